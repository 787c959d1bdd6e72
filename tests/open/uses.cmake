set(uses run backends weights keras graph io base)
add_dependencies(${target} attn-image)
