# The table of operation cases, which this program runs through the kernels directly.
target_sources(${target} PRIVATE ops/cases.cpp ops/cache_cases.cpp ops/training_cases.cpp ops/quantized_cases.cpp ops/compare.cpp ops/tolerance.cpp
               ops/models.cpp)
target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/ops)
