set(uses backends/cpu backends/reference parallel communicators plan graph base)
# The private headers of backends/cpu name oneDNN's types.
target_link_libraries(${target} PRIVATE DNNL::dnnl)
target_link_libraries(${target} PRIVATE attn_test_shared)
