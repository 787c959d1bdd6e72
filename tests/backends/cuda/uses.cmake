# The table of operation cases, which this program runs through the kernels directly.
target_link_libraries(${target} PRIVATE attn_test_shared)
