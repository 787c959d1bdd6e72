// attn bench: prefill and decode steps.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

std::vector<std::string> line(const std::vector<std::string>& more) {
  std::vector<std::string> words = {
      "bench", in_repository("tests/data/generation/llama3/preset"), "--iterations", "2", "--warmup", "0"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("bench: a decoder has a checked row for each batch, depth, prompt and number of tokens") {
  const TemporaryFolder folder;
  const std::string file = folder / "rows.json";
  REQUIRE(
      run_attn(line({"--pp", "6", "--tg", "3", "--depth", "0,4", "--batch-size", "1,2", "--json", "-o", file})).code ==
      0);
  const json report = json::parse(read_text(file));
  std::vector<std::string> tests;
  for (const json& row : report["rows"]) {
    tests.push_back(row["test"]);
    const bool is_prompt = tests.back().starts_with("pp");
    CHECK(row["iterations"] == (is_prompt ? 2 : 6));
    CHECK(row["decoding"]["rounds"] == 2);
    CHECK(row["decoding"]["tokens"] == (is_prompt ? 6 : 3));
    CHECK(row["decoding"].contains("memory_share") == !is_prompt);
    CHECK(row["decoding"]["weight_bytes"].get<std::int64_t>() > 0);
    CHECK(row["tokens_per_second"].get<double>() > 0);
    CHECK(row["verified"]["against"] == (is_prompt ? "one by one" : "all at once"));
    CHECK(row["verified"]["pass"] == true);
    CHECK(row["seq_len"] == nullptr);
  }
  const std::vector<std::string> each = {"pp6", "tg3", "pp6@d4", "tg3@d4"};
  std::vector<std::string> expected = each;
  expected.insert(expected.end(), each.begin(), each.end());
  CHECK(tests == expected);
  CHECK(report["rows"][7]["batch"] == 2);
  // A baseline with the first rows finds the same tests.
  const Result again = run_attn(line({"--tg", "3", "--baseline", file, "--format", "csv", "--verify", "never"}));
  CHECK(again.code == 0);
  CHECK(contains(again.out, ",test,depth,tokens,rounds,spread,weight_bytes,cache_bytes,memory_share"));
  CHECK_FALSE(contains(again.err, "no measurement of this setting"));
  CHECK(contains(run_attn(line({"--pp", "2", "--format", "markdown"})).out, "test pp2"));
}

TEST_CASE("bench: prompts and depths require a decoder with enough positions") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"bench", "--depth", "5"},
                                             line({"--pp", "4", "--ops"}),
                                             line({"--pp", "4", "--seq-len", "5"}),
                                             line({"--tg", "0"}),
                                             line({"--pp", "2", "--depth", "x"})})
    CHECK(run_attn(words).code == 2);
  CHECK(run_attn({"bench", "--pp", "5"}).code == 3);
  CHECK(run_attn({"bench", in_repository("tests/data/generation/bart/preset"), "--pp", "5"}).code == 3);
}

}  // namespace
}  // namespace attn::test
