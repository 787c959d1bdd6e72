# Uses the plugin as attn does; cases that need a GPU are skipped without one.
set(uses report run backends weights keras plan graph io base)
target_link_libraries(${target} PRIVATE attn_test_shared)
# The attention kernels' own table, on the device, with the plugin's code in this program.
if(TARGET attn_cuda)
  set(limited "^$")
  if(TARGET attn_cuda_limited)
    set(limited "(flash_sm90|small_product)_b?float16\\.cu")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:attn_cuda_limited>)
  endif()
  target_sources(${target} PRIVATE backends/cuda/attention_cases.cpp backends/cuda/attention_check.cpp
                 $<FILTER:$<TARGET_OBJECTS:attn_cuda_code>,EXCLUDE,${limited}>)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/backends/cuda ${CMAKE_SOURCE_DIR}/tests/backends/cuda)
  target_include_directories(${target} SYSTEM PRIVATE ${ATTN_CUDA_INCLUDE})
  target_link_libraries(${target} PRIVATE ${ATTN_CUDA_LIBRARIES} Threads::Threads ${CMAKE_DL_LIBS} rt)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
else()
  set_source_files_properties(gpu/attention_test.cpp gpu/small_product_test.cpp PROPERTIES HEADER_FILE_ONLY ON)
endif()
