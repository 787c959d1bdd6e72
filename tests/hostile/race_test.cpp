// Files that are truncated while they are read.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "../long.h"
#include "attempt.h"
#include "zip.h"

namespace attn::test {
namespace {

/// Reads a file of `elements` bytes repeatedly while its end is cut off at varying moments; returns how often it was
/// rejected.
int cut_while_read(int times, std::uint64_t elements) {
  const Folder folder;
  const std::string count = std::to_string(elements);
  const std::string header = R"({"a":{"dtype":"U8","shape":[)" + count + R"(],"data_offsets":[0,)" + count + "]}}";
  const std::string path = folder.file("x.safetensors", number(header.size(), 8) + header);
  const std::uint64_t whole = 8 + header.size() + elements;
  int refused = 0;
  for (int i = 0; i < times; ++i) {
    std::filesystem::resize_file(path, whole);
    const auto moment = std::chrono::microseconds(100 * (i * 37 % 400));
    std::thread cutter([&] {
      std::this_thread::sleep_for(moment);
      std::filesystem::resize_file(path, whole / 2);
    });
    const Attempt result = attempt({"weights", path});
    cutter.join();
    CAPTURE(result.err);
    CHECK((result.code == 0 || result.code == 3));
    CHECK(is_clean(result.err));
    if (result.code == 3) ++refused;
  }
  return refused;
}

}  // namespace

TEST_CASE("race: a file that is truncated while it is read into memory is read or rejected") {
  CHECK(cut_while_read(runs_long() ? 400 : 80, 1 << 20) > 0);
}

TEST_CASE("race: a mapped file that is truncated is read or rejected, without a signal") {
  CHECK(cut_while_read(runs_long() ? 100 : 25, 65 << 20) > 0);
}

}  // namespace attn::test
