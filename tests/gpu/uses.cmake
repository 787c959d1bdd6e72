# Through the plugin, as attn opens it; cases that need a GPU are skipped where there is none.
set(uses report run backends weights keras plan graph io base)
target_sources(${target} PRIVATE tests/ops/cases.cpp tests/ops/compare.cpp tests/ops/tolerance.cpp tests/ops/models.cpp
               tests/fixtures/fixture_cases.cpp)
target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/ops ${CMAKE_SOURCE_DIR}/tests/fixtures)
