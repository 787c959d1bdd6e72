// Memory checks before allocation. tests/oracle/check_memory.py compares the predictions with the peaks of real runs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../text.h"
#include "program.h"

namespace {

using namespace attn::test;

/// The word after `option` in `text`.
std::string word_after(const std::string& text, const std::string& option) {
  const std::size_t at = text.find(option + " ");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + option.size() + 1;
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

/// Memory in megabytes that a sanitizer adds, which counts towards a limit.
#ifdef ATTN_SANITIZED
constexpr int kRecords = 400;
#else
constexpr int kRecords = 0;
#endif

std::string limit_of(int megabytes) { return std::to_string(megabytes + kRecords) + "MB"; }

}  // namespace

TEST_CASE("memory: a pass above --mem-limit exits with code 4, and the suggested batch fits") {
  for (const char* command : {"run", "bench", "compare", "heatmap"}) {
    CAPTURE(command);
    const Result refused = run_attn({command, "--batch-size", "1000", "--mem-limit", limit_of(100)});
    CHECK(refused.code == 4);
    CHECK(refused.out.empty());
    CHECK(contains(refused.err, "the rest of --mem-limit"));
    const int batch = std::stoi(word_after(refused.err, "--batch-size"));
    CHECK(batch > 1);
    CHECK(batch < 1000);
  }
  const Result refused = run_attn({"run", "--batch-size", "1000", "--mem-limit", limit_of(100)});
  const std::string batch = word_after(refused.err, "--batch-size");
  const Result ran = run_attn({"run", "--batch-size", batch, "--mem-limit", limit_of(100), "--json"});
  REQUIRE(ran.code == 0);
  CHECK(nlohmann::json::parse(ran.out)["memory"]["predicted_bytes"] <= (100 + kRecords) * 1'000'000);
}

TEST_CASE("memory: a length that fits is suggested if no batch fits") {
  const TemporaryFolder folder;
  const std::string model = folder.file("any_length.json", R"({"class_name": "Sequential", "config": {"name": "s",
    "layers": [{"class_name": "InputLayer", "config": {"batch_shape": [null, null, 64], "name": "x"}},
               {"class_name": "Dense", "config": {"units": 64}}]}})");
  const Result refused = run_attn({"run", model, "--seq-len", "10000000", "--mem-limit", limit_of(60)});
  CHECK(refused.code == 4);
  const std::string length = word_after(refused.err, "--batch-size 1 --seq-len");
  CHECK(run_attn({"run", model, "--seq-len", length, "--mem-limit", limit_of(60)}).code == 0);
}

TEST_CASE("memory: sizes are in bytes or their multiples, and others are usage errors") {
  for (const char* size : {"40000000000", "40GB", "40 gb", "37.2GiB", "40g", "1tb"})
    CHECK(run_attn({"run", "--mem-limit", size}).code == 0);
  for (const char* size : {"", "many", "-1", "5 bananas", "nan", "1e400", "inf", "GB"}) {
    CAPTURE(size);
    const Result result = run_attn({"run", std::string("--mem-limit=") + size});
    CHECK(result.code == 2);
  }
}

TEST_CASE("memory: models of 10^9 to 10^18 parameters are summarized, and running them is rejected") {
  const TemporaryFolder folder;
  for (const char* width : {"16384", "1000000", "100000000", "500000000"}) {
    CAPTURE(width);
    const std::string model = folder.file("big.json", std::string(R"({"input_shape": [7, )") + width +
                                                          R"(], "num_heads": 4, "intermediate_dim": )" + width + "}");
    CHECK(run_attn({"summary", model}).code == 0);
    for (const char* command : {"run", "bench", "compare", "heatmap"}) {
      const Result result = run_attn({command, model, "--mem-limit", "1GB"});
      CHECK(result.code == 4);
      CHECK(contains(result.err, "attn: error: "));
    }
    CHECK(run_attn({"init", model, "-o", folder / "w.npz", "--mem-limit", "1GB"}).code == 4);
  }
}

TEST_CASE("memory: a large image is in memory as numbers once, and counts towards --mem-limit") {
  const std::string image = "tests/data/images/large/square.png";  // 48 MB of pixels, 192 MB of float32
  const std::string models = "tests/data/image_text/";
  for (std::vector<std::string> words :
       {std::vector<std::string>{"run", models + "clip/preset", "--text", "a"},
        {"generate", models + "gemma4/preset", "--prompt", "<|image|>", "--max-new-tokens", "1"},
        {"generate", models + "qwen3_5/preset", "--prompt", "<|image_pad|>", "--max-new-tokens", "1"}}) {
    CAPTURE(words[1]);
    words.insert(words.end(), {"--image", image, "--mem-limit", "200MB"});
    const Result refused = run_attn(words);
    words.back() = limit_of(350);
    const Result accepted = run_attn(words);
    CAPTURE(refused.err);
    CAPTURE(accepted.err);
    CHECK(refused.code == 4);
    CHECK(contains(refused.err, image + ": the conversion of 4000 by 4000 pixels takes "));
    CHECK(contains(refused.err, "(the rest of --mem-limit); give a smaller image"));
    CHECK(accepted.code == 0);
  }
}
