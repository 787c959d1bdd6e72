set(uses weights keras communicators plan graph io base)
# Their kernels count; see counted.h.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backends/reference/*.cpp)
list(FILTER kernels EXCLUDE REGEX "/(executable|storage|numbers)\\.cpp$")
add_library(attn_counted OBJECT ${kernels})
target_compile_definitions(attn_counted PRIVATE ATTN_COUNTED_SOURCE)
target_compile_options(attn_counted PRIVATE -include ${CMAKE_CURRENT_LIST_DIR}/counted.h -Wno-conversion)
target_include_directories(attn_counted PRIVATE ${CMAKE_SOURCE_DIR}/src/backends/reference ${CMAKE_SOURCE_DIR}/src/backends/include)
target_link_libraries(attn_counted PRIVATE attn_options attn_communicators attn_plan attn_graph attn_base fmt::fmt)
set_target_properties(attn_counted PROPERTIES UNITY_BUILD ${ATTN_UNITY} UNITY_BUILD_BATCH_SIZE 8)
target_link_libraries(${target} PRIVATE attn_counted attn_test_shared)
# The FLOPs come from the program; another process reads HDF5 weights.
target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/backends/reference/numbers.cpp)
target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/backends/reference
                           ${CMAKE_SOURCE_DIR}/src/backends/include)
add_dependencies(${target} attn attn-hdf5)
