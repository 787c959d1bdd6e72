# The table of operation cases, which this program runs through the kernels directly.
target_sources(${target} PRIVATE tests/ops/cases.cpp tests/ops/compare.cpp tests/ops/tolerance.cpp
               tests/ops/models.cpp)
target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/ops)
