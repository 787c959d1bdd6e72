# The table of operation cases, which this program runs through the kernels directly.
target_sources(${target} PRIVATE ops/cases.cpp ops/cache_cases.cpp ops/training_cases.cpp ops/quantized_cases.cpp ops/compare.cpp ops/tolerance.cpp
               ops/models.cpp)
target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/ops)
set(uses parallel communicators)
# Ranks with an emulated GPU each: the stand-in for NCCL puts its work on this program's streams.
add_dependencies(${target} fake_nccl)
set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
