# For -DCMAKE_PROJECT_INCLUDE: links against the C library of Debian 11 and contains the libraries that a system may not have.
# ATTN_RELEASE is the folder that .ci/release/sysroot and .ci/release/libraries filled. Sources are compiled as in other
# builds, with this machine's headers; the linker reports a function that the older C library lacks.
set(root ${ATTN_RELEASE}/sysroot)
set(triple ${CMAKE_LIBRARY_ARCHITECTURE})
# The C++ library is part of each program and plugin, and hidden, because a system may have another one.
foreach(kind EXE SHARED MODULE)
  string(APPEND CMAKE_${kind}_LINKER_FLAGS " --sysroot=${root} -B${root}/usr/lib/${triple} -L${root}/gcc -L${root}/usr/lib/${triple} -L${root}/lib/${triple} -static-libgcc -static-libstdc++ -Wl,--exclude-libs,libstdc++.a:libgcc_eh.a:libgcc.a -Wl,-z,defs")
endforeach()
# Separate libraries before glibc 2.34.
set(CMAKE_C_STANDARD_LIBRARIES "-lpthread -ldl")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lpthread -ldl")

set(SPNG_LIBRARY ${ATTN_RELEASE}/prefix/lib/libspng.a CACHE FILEPATH "")
set(FLAC_LIBRARY ${ATTN_RELEASE}/prefix/lib/libFLAC.a CACHE FILEPATH "")
set(SENTENCEPIECE_LIBRARY ${ATTN_RELEASE}/prefix/lib/libsentencepiece.so CACHE FILEPATH "")
set(OpenMP_gomp_LIBRARY ${root}/gcc/libgomp.so CACHE FILEPATH "")
set(OpenMP_pthread_LIBRARY ${root}/usr/lib/${triple}/libpthread.so CACHE FILEPATH "")
set(ZLIB_LIBRARY ${ATTN_RELEASE}/prefix/lib/libz.a CACHE FILEPATH "")
set(JPEG_LIBRARY /usr/lib/${triple}/libjpeg.a CACHE FILEPATH "")
foreach(library fmt spdlog)
  find_package(${library} REQUIRED)
  set_target_properties(${library}::${library} PROPERTIES IMPORTED_LOCATION_NONE ${ATTN_RELEASE}/prefix/lib/lib${library}.a)
endforeach()

function(attn_link_portably)
  # The companions do without a C library, because they are started without the archive's launcher. Thread functions are
  # linked whole: weak references to them would stay null.
  foreach(program attn-hdf5 attn-image attn-audio)
    target_link_options(${program} PRIVATE -static -Wl,--whole-archive -lpthread -Wl,--no-whole-archive)
  endforeach()
  if(TARGET attn_python)  # Python's functions come from the interpreter
    target_link_options(attn_python PRIVATE -Wl,-z,undefs)
  endif()
endfunction()
cmake_language(DEFER CALL attn_link_portably)
