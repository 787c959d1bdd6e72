target_link_libraries(${target} PRIVATE attn_test_shared)
