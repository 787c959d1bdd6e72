// Files that are no sound, and damaged sounds, through the program.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "../places.h"
#include "attempt.h"

namespace attn::test {

TEST_CASE("audio: files that are not sounds, damaged, truncated or above limits are rejected by name") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_repository("tests/data/audio/refused"))) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    check_refused(attempt({"transcribe", "tests/data/transcribe/whisper", entry.path()}), name);
    ++count;
  }
  CHECK(count >= 28);
}

TEST_CASE("audio: a pipe, a folder and a device are rejected") {
  for (const char* path : {"/dev/zero", "/dev/null", "tests"})
    check_refused(attempt({"transcribe", "tests/data/transcribe/whisper", path}), path);
}

}  // namespace attn::test
