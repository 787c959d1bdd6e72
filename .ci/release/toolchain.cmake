# Compiles and links against the folder that .ci/release/sysroot made: ATTN_ARCH is amd64 or arm64, ATTN_RELEASE the folder
# with sysroot/ and prefix/. GCC is Debian 12's.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ATTN_ARCH ATTN_RELEASE)
if(ATTN_ARCH STREQUAL arm64)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
  set(triple aarch64-linux-gnu)
  set(prefix ${triple}-)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${ATTN_RELEASE}/sysroot)
else()
  set(triple x86_64-linux-gnu)
  set(prefix "")
endif()
set(CMAKE_C_COMPILER ${prefix}gcc)
set(CMAKE_CXX_COMPILER ${prefix}g++)
set(CMAKE_STRIP ${prefix}strip)
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})

set(root ${ATTN_RELEASE}/sysroot)
set(CMAKE_SYSROOT ${root})
set(CMAKE_FIND_ROOT_PATH ${ATTN_RELEASE}/prefix ${root})
if(ATTN_ARCH STREQUAL amd64)  # oneDNN, which `make setup` fetched
  get_filename_component(deps ${ATTN_RELEASE}/../../deps ABSOLUTE)
  list(APPEND CMAKE_FIND_ROOT_PATH ${deps}/onednn)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# GCC would look among this machine's headers and libraries first.
set(headers "-nostdinc -isystem ${root}/usr/lib/gcc/${triple}/12/include -isystem ${root}/usr/include/${triple} -isystem ${root}/usr/include")
set(CMAKE_C_FLAGS_INIT "${headers}")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${root}/usr/include/c++/12 -isystem ${root}/usr/include/${triple}/c++/12 ${headers}")
# The C++ library is part of each program and plugin, hidden, because a system may have another one.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-B${root}/usr/lib/${triple} -L${root}/gcc -L${root}/usr/lib/${triple} -L${root}/lib/${triple} -static-libgcc -static-libstdc++ -Wl,--exclude-libs,libstdc++.a:libgcc_eh.a:libgcc.a -Wl,-z,defs")
endforeach()
# Libraries of their own before glibc 2.34.
set(CMAKE_C_STANDARD_LIBRARIES "-lpthread -ldl")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lpthread -ldl")
