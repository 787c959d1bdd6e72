# The private headers of the module name oneDNN's types.
target_link_libraries(${target} PRIVATE DNNL::dnnl)
