// Files that are no image, bombs and damaged images, through the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "../places.h"
#include "attempt.h"

namespace attn::test {

TEST_CASE("image: files that are not images or damaged are rejected by name, and bombs before they grow") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_repository("tests/data/images/refused"))) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    const Attempt run = attempt({"run", "tests/data/images/classifier.keras", "--image", entry.path()});
    if (name.starts_with("bomb") || name.starts_with("wide")) {
      check_refused_bomb(run, name);
    } else {
      check_refused(run, name);
    }
    ++count;
  }
  CHECK(count >= 17);
}

TEST_CASE("image: a pipe, a folder and a device are rejected") {
  for (const char* path : {"/dev/zero", "/dev/null", "tests"})
    check_refused(attempt({"run", "tests/data/images/classifier.keras", "--image", path}), path);
}

}  // namespace attn::test
