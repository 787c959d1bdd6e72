# The private headers of the room name oneDNN's types.
target_link_libraries(${target} PRIVATE DNNL::dnnl)
