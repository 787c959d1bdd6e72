# The table of operation cases, which this program runs through the kernels directly.
target_link_libraries(${target} PRIVATE attn_test_shared)
set(uses parallel communicators)
# Ranks with one emulated GPU each: the stand-in for NCCL puts its work on this program's streams.
add_dependencies(${target} fake_nccl)
set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
