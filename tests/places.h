// Where a test finds what it needs. main.cpp alone holds the paths, so that all other tests compile to the same bytes
// wherever the repository lies, and a compiler cache serves every clone of it.
#pragma once

#include <string>
#include <string_view>

namespace attn::test {

/// A file or folder by its path in the repository, which ATTN_SOURCE_DIR in the environment names where it was moved
/// after the build; the repository itself for "".
[[nodiscard]] std::string in_repository(std::string_view path);

/// The preset folder of a small model of tests/data/generation.
[[nodiscard]] inline std::string preset(const std::string& name) {
  return in_repository("tests/data/generation/" + name + "/preset");
}

/// The attn that was built with the tests.
[[nodiscard]] std::string attn_program();

/// The folder of a stand-in for NVIDIA's driver.
[[nodiscard]] std::string fake_driver();
/// The folder of the stand-in for libnccl.so.2.
[[nodiscard]] std::string fake_nccl();

}  // namespace attn::test
