#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

#include "places.h"

namespace attn::test {

std::string in_repository(std::string_view path) {
  const char* moved = std::getenv("ATTN_SOURCE_DIR");
  return std::string(moved != nullptr ? moved : ATTN_SOURCE_DIR).append("/").append(path);
}

std::string attn_program() { return ATTN_BINARY_DIR "/attn"; }

std::string fake_nccl() { return ATTN_BINARY_DIR "/tests/fake_nccl"; }
std::string fake_driver() { return ATTN_BINARY_DIR "/tests/fake_driver"; }

}  // namespace attn::test

#ifdef ATTN_SANITIZED
// Tests allocate more memory than there is; with a sanitizer that must also return a null pointer.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
