# Installation and packaging: the program with its plugins, the library with its headers, manual pages and completions.
# Private files are in lib/attn (attn/base/companion.h looks there).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# All modules under one soname. attn_base is linked whole, because its headers are public.
add_library(attn_shared SHARED $<TARGET_OBJECTS:attn_library>)
add_library(attn::attn ALIAS attn_shared)
set_target_properties(attn_shared PROPERTIES OUTPUT_NAME attn EXPORT_NAME attn VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_link_libraries(attn_shared PRIVATE attn_options attn_library
                      -Wl,--whole-archive $<TARGET_FILE:attn_base> -Wl,--no-whole-archive PUBLIC fmt::fmt)
target_include_directories(attn_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(attn_shared INTERFACE cxx_std_20)

# The library search path of the programs, in the build folder and installed. CMake's own path ends in an empty entry, a
# placeholder for another one. It would mean the current folder, where anybody could place a library. RPATH rather than
# RUNPATH, because it also applies to the libraries that these load.
function(attn_search target)
  set(folders ${ARGN})
  get_target_property(dnnl DNNL::dnnl LOCATION)
  foreach(library ${dnnl} ${HDF5_LIBRARY} ${SPNG_LIBRARY} ${FLAC_LIBRARY} ${OpenMP_gomp_LIBRARY})
    if(library MATCHES "\\.a$")
      continue()
    endif()
    cmake_path(GET library PARENT_PATH folder)
    cmake_path(IS_PREFIX CMAKE_SOURCE_DIR ${folder} is_ours)
    if(is_ours)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_BINARY_DIR})
      list(APPEND folders "$ORIGIN/${folder}")
    elseif(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND folders ${folder})
    endif()
  endforeach()
  list(JOIN folders ":" folders)
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
  # In a file, because make, ninja and the shell would each expand $ORIGIN.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${target}.link CONTENT "-Wl,--disable-new-dtags,-rpath,${folders}\n" @ONLY)
  target_link_options(${target} PRIVATE @${CMAKE_BINARY_DIR}/generated/${target}.link)
endfunction()
attn_search(attn "$ORIGIN/../lib/attn")
attn_search(attn-hdf5 "$ORIGIN")
attn_search(attn-image "$ORIGIN")
attn_search(attn-audio "$ORIGIN")
attn_search(attn_shared "$ORIGIN/attn" "$ORIGIN/../attn")

install(TARGETS attn RUNTIME DESTINATION bin)
install(TARGETS attn-hdf5 attn-image attn-audio RUNTIME DESTINATION lib/attn)
foreach(plugin attn_cuda attn_sentencepiece attn_mpi attn_mpi_mpich)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/attn)
  endif()
endforeach()
install(TARGETS attn_shared EXPORT attn-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/attn DESTINATION include)
install(EXPORT attn-targets NAMESPACE attn:: DESTINATION lib/cmake/attn)
configure_package_config_file(src/attn-config.cmake.in ${CMAKE_BINARY_DIR}/generated/attn-config.cmake
                              INSTALL_DESTINATION lib/cmake/attn)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/attn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/attn-config.cmake ${CMAKE_BINARY_DIR}/generated/attn-config-version.cmake
        DESTINATION lib/cmake/attn)
install(FILES README.md DESTINATION share/doc/attn)
install(FILES LICENSE DESTINATION share/doc/attn RENAME copyright)
install(DIRECTORY docs configs DESTINATION share/doc/attn PATTERN outputs EXCLUDE)

# The notices of statically linked libraries, as their licences require.
foreach(package libaec-dev libcli11-dev libfmt-dev libhdf5-dev libjpeg62-turbo-dev libmd-dev libpcre2-dev librandom123-dev
        libsentencepiece-dev libspdlog-dev libspng-dev libutf8proc-dev nlohmann-json3-dev zlib1g-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/attn/notices RENAME ${package})
  endif()
endforeach()

# The program itself writes manual pages and completions.
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")
  set(zsh \${share}/zsh/site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr\$\")  # where Debian's zsh looks for what packages bring
    set(zsh \${share}/zsh/vendor-completions)
  endif()
  file(MAKE_DIRECTORY \${share}/man/man1 \${share}/bash-completion/completions \${zsh} \${share}/fish/vendor_completions.d)
  set(attn ${CMAKE_CROSSCOMPILING_EMULATOR} \"${CMAKE_BINARY_DIR}/attn\")
  execute_process(COMMAND \${attn} man --all -o \${share}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${attn} completion bash -o \${share}/bash-completion/completions/attn COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${attn} completion zsh -o \${zsh}/_attn COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${attn} completion fish -o \${share}/fish/vendor_completions.d/attn.fish COMMAND_ERROR_IS_FATAL ANY)
")

# Bundles a oneDNN that `make setup` fetched. ATTN_BUNDLE=1, for the self-contained archive, bundles everything that is
# not in every Debian.
set(own_onednn "")
if(dnnl_DIR MATCHES "^${ATTN_DEPS}")
  set(own_onednn $<TARGET_FILE:DNNL::dnnl>)
  install(PROGRAMS ${own_onednn} DESTINATION lib/attn RENAME libdnnl.so.3)
  install(DIRECTORY ${ATTN_DEPS}/onednn/share/doc/onednn DESTINATION share/doc/attn/notices)
endif()
install(CODE "
  if(NOT \"\$ENV{ATTN_BUNDLE}\" STREQUAL \"\")
    set(plugins)
    if(EXISTS \"${CMAKE_BINARY_DIR}/libattn_sentencepiece.so\")
      set(plugins MODULES \"${CMAKE_BINARY_DIR}/libattn_sentencepiece.so\")
    endif()
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"${CMAKE_BINARY_DIR}/attn\" \"${CMAKE_BINARY_DIR}/attn-hdf5\"
         \"${CMAKE_BINARY_DIR}/attn-image\" \"${CMAKE_BINARY_DIR}/attn-audio\" \${plugins}
         RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
         POST_EXCLUDE_REGEXES \"/(ld-linux|lib(c|m|dl|rt|pthread|resolv|stdc[+][+]|gcc_s|dnnl)[.]so)\")
    if(missing)
      message(FATAL_ERROR \"not found, so not packed: \${missing}\")
    endif()
    foreach(library IN LISTS found)
      file(INSTALL \"\${library}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/attn\" FOLLOW_SYMLINK_CHAIN)
      cmake_path(GET library FILENAME name)
      execute_process(COMMAND dpkg-query --search \"*/\${name}\" OUTPUT_VARIABLE package ERROR_QUIET)
      string(REGEX REPLACE \":.*\" \"\" package \"\${package}\")
      if(EXISTS \"/usr/share/doc/\${package}/copyright\")
        file(INSTALL \"/usr/share/doc/\${package}/copyright\" RENAME \"\${package}\"
             DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/doc/attn/notices\")
      endif()
    endforeach()
  endif()
")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attn)
set(CPACK_PACKAGE_CONTACT "the attn authors <attn@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "opens Keras attention models without Python: shows, runs, checks and measures them")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The folders of libdnnl and cuBLASLt during packaging; neither is in a Debian package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${ATTN_DEPS}/onednn/lib ${CUDAToolkit_LIBRARY_DIR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "man-db")
include(CPack)
