// attn demo: the files, and the commands that it shows.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "../places.h"
#include "../text.h"
#include "program.h"

namespace attn::test {
namespace {

TEST_CASE("demo: every printed command runs on the written files") {
  const TemporaryFolder folder;
  const Result demo = run_attn({"demo", folder / "with a space"});
  REQUIRE(demo.code == 0);
  std::istringstream lines(demo.out);
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  attn ")) continue;
    ++commands;
    CAPTURE(line);
    const std::string words = line.substr(std::string("  attn ").size());
    const std::string command = "cd " + (folder / "") + " && " + attn_program() + " " + words;
    const Result result = run_program("/bin/bash", {"-c", command});
    CHECK_MESSAGE(result.code == 0, result.err);
  }
  CHECK(commands == 7);
}

TEST_CASE("demo: the models solve their tasks") {
  const TemporaryFolder folder;
  REQUIRE(run_attn({"demo", folder / "d"}).code == 0);
  const Result counted = run_attn(
      {"generate", folder / "d/counter.keras", "--prompt", "ninety-seven ", "--sampler", "greedy", "-n", "35"});
  CHECK(contains(counted.out, "ninety-seven ninety-eight ninety-nine zero"));
}

TEST_CASE("demo: a file with other contents is not overwritten, and an equal file is accepted") {
  const TemporaryFolder folder;
  const std::string place = folder / "d";
  REQUIRE(run_attn({"demo", place}).code == 0);
  CHECK(run_attn({"demo", place}).code == 0);
  std::ofstream(place + "/letters.txt") << "mine";
  const Result refused = run_attn({"demo", place});
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "letters.txt: another file has this name; give another FOLDER"));
  CHECK(read_text(place + "/letters.txt") == "mine");
  const std::string other = folder / "other";
  std::filesystem::create_directory(other);
  std::ofstream(other + "/word.npy") << "mine";
  CHECK(run_attn({"demo", other}).code == 3);
  CHECK(std::distance(std::filesystem::directory_iterator(other), {}) == 1);
}

}  // namespace
}  // namespace attn::test
