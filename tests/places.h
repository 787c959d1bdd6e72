// The locations of files for tests. Only main.cpp contains the paths, so that all other tests compile to the same bytes
// wherever the repository is, and all clones share a compiler cache.
#pragma once

#include <string>
#include <string_view>

namespace attn::test {

/// The path of a file or folder in the repository, or of the repository itself for "". ATTN_SOURCE_DIR in the
/// environment overrides it if the repository was moved after the build.
[[nodiscard]] std::string in_repository(std::string_view path);

/// The preset folder of a small model of tests/data/generation.
[[nodiscard]] inline std::string preset(const std::string& name) {
  return in_repository("tests/data/generation/" + name + "/preset");
}

/// The attn program that was built with the tests.
[[nodiscard]] std::string attn_program();

/// The folder of a stand-in for NVIDIA's driver.
[[nodiscard]] std::string fake_driver();
/// The folder of the stand-in for libnccl.so.2.
[[nodiscard]] std::string fake_nccl();

}  // namespace attn::test
