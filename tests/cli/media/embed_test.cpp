// Vectors of texts as scripts see them.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "../../capture.h"
#include "../../largest.h"
#include "../../places.h"
#include "../../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

using attn::Tensor;
using attn::test::contains;
using attn::test::largest_error;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

std::string data(const std::string& name) { return attn::test::in_repository("tests/data/embed/") + name; }

Tensor embeddings_in(const std::string& path) {
  const std::vector<attn::NamedTensor> arrays = attn::io::read_tensors(path);
  REQUIRE(arrays.size() == 1);
  CHECK(arrays[0].name == "embeddings");
  return arrays[0].tensor;
}

/// The vectors of the test's texts by a command with further options.
Tensor embedded(const std::string& model, std::vector<std::string> options = {}) {
  const TemporaryFolder folder;
  const std::string path = folder / "vectors.npz";
  options.insert(options.begin(), {"embed", model, "--texts", data("texts.json"), "-o", path});
  const Result result = run_attn(options);
  REQUIRE_MESSAGE(result.code == 0, result.err);
  return embeddings_in(path);
}

}  // namespace

TEST_CASE("embed: vectors equal KerasHub's for empty, short and cut texts and for special tokens") {
  for (const auto& [model, vectors] :
       {std::pair{"bert", "bert.npz"}, {"qwen3", "qwen3.npz"}, {"gemma3.keras", "gemma3.npz"}}) {
    CAPTURE_BINDING(model);
    const Tensor expected = embeddings_in(data(vectors));
    const Tensor got = embedded(data(model));
    REQUIRE(got.shape() == expected.shape());
    CHECK(largest_error(expected, got) < 1e-5);  // KerasHub's own float32 differs from float64 by 2e-6
  }
}

TEST_CASE("embed: vectors of sentence-transformers folders equal the library's, with each prompt") {
  const std::string cases = data("sentence/");
  for (const attn::NamedTensor& expected : attn::io::read_tensors(cases + "vectors.npz")) {
    CAPTURE(expected.name);
    const std::size_t slash = expected.name.find('/');
    std::vector<std::string> command = {"embed", cases + expected.name.substr(0, slash), "--texts",
                                        cases + "texts.json"};
    if (slash != std::string::npos) {
      command.emplace_back("--prompt-name");
      command.push_back(expected.name.substr(slash + 1));
    }
    const TemporaryFolder folder;
    command.insert(command.end(), {"-o", folder / "vectors.npz"});
    const Result result = run_attn(command);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    // The vectors were computed in float64; attn's float32 differs by 9e-6 in the deepest of these models.
    CHECK(largest_error(expected.tensor, embeddings_in(folder / "vectors.npz")) < 3e-5);
  }
}

TEST_CASE("embed: a sentence-transformers folder keeps its vectors as a preset and back as a folder") {
  const TemporaryFolder folder;
  const std::vector<std::string> texts = {"mars is the red planet", "a twin"};
  const auto vectors = [&](const std::string& model) {
    const Result result = run_attn({"embed", model, "--text", texts[0], "--text", texts[1], "-o", folder / "v.npz"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return embeddings_in(folder / "v.npz");
  };
  const Tensor expected = vectors(data("sentence/bert"));
  REQUIRE(run_attn({"convert", data("sentence/bert"), folder / "preset", "--to", "preset"}).code == 0);
  CHECK(largest_error(expected, vectors(folder / "preset")) < 1e-6);
  REQUIRE(run_attn({"convert", folder / "preset", folder / "again", "--to", "hf"}).code == 0);
  CHECK(largest_error(expected, vectors(folder / "again")) < 1e-6);
}

TEST_CASE("embed: a folder with modules that KerasHub lacks opens as its backbone, and embed names the module") {
  const TemporaryFolder folder;
  const std::string copy = folder / "model";
  std::filesystem::copy(data("sentence/bert"), copy, std::filesystem::copy_options::recursive);
  std::ofstream(copy + "/1_Pooling/config.json") << R"({"pooling_mode": "weightedmean"})";
  CHECK(contains(run_attn({"summary", copy}).out, "bert_backbone"));
  const Result result = run_attn({"embed", copy, "--text", "a"});
  CHECK(result.code == 3);
  CHECK_MESSAGE(contains(result.err, "a folder of sentence-transformers, but not one with the pooling 'weightedmean'"),
                result.err);
}

TEST_CASE("embed: a vector does not depend on other texts of the run") {
  const Tensor together = embedded(data("bert"));
  for (const char* batch : {"1", "2", "3"}) {
    CAPTURE(batch);
    CHECK(largest_error(together, embedded(data("bert"), {"--batch-size", batch})) < 1e-6);
  }
}

TEST_CASE("embed: the similarity of two texts is the dot product of their vectors") {
  const Result result = run_attn({"embed", data("bert"), "--text", "mars", "--text", "the planet", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json report = json::parse(result.out);
  CHECK(report["dimensions"] == 12);
  const json &one = report["results"][0]["embedding"], &other = report["results"][1]["embedding"];
  double product = 0, square = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    product += one[i].get<double>() * other[i].get<double>();
    square += one[i].get<double>() * one[i].get<double>();
  }
  CHECK(report["similarity"][0][1].get<double>() == doctest::Approx(product));
  CHECK(report["similarity"][1][0].get<double>() == doctest::Approx(product));
  CHECK(square == doctest::Approx(1.0));
}

TEST_CASE("embed: --seq-len cuts texts, and the report shows it") {
  const Result result = run_attn({"embed", data("bert"), "--seq-len", "5", "--text", "mars the red planet", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json text = json::parse(result.out)["results"][0];
  CHECK(text["tokens"] == 5);
  CHECK(text["cut"] == true);
  CHECK(contains(run_attn({"embed", data("bert"), "--seq-len", "5", "--text", "mars the red planet"}).out, "5 (cut)"));
}

TEST_CASE("embed: many texts are shown with the most similar other text") {
  std::vector<std::string> command = {"embed", data("bert")};
  for (const char* text : {"mars", "venus", "red", "the planet", "mars", "a", "b", "c", "d"})
    command.insert(command.end(), {"--text", text});
  const Result result = run_attn(command);
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(contains(result.out, "Nearest"));
  CHECK(contains(result.out, "9 texts, vectors of 12 numbers"));
}

TEST_CASE("embed: more than 1,000 texts have no similarities, so the work is linear in the texts") {
  const TemporaryFolder folder;
  std::ofstream texts(folder / "texts.txt");
  for (int i = 0; i <= 1000; ++i) texts << "mars\n";
  texts.close();
  const std::vector<std::string> command = {"embed", data("bert"), "--texts", folder / "texts.txt"};
  const Result table = run_attn(command);
  REQUIRE_MESSAGE(table.code == 0, table.err);
  CHECK_FALSE(contains(table.out, "Nearest"));
  CHECK(contains(table.out, "1,001 texts, vectors of 12 numbers, no similarities above 1,000 texts"));
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const Result result = run_attn(as_json);
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json report = json::parse(result.out);
  CHECK(report["results"].size() == 1001);
  CHECK(report["similarity"].is_null());
}

TEST_CASE("embed: a vector that is not finite is an error, and no file is written") {
  const TemporaryFolder folder;
  REQUIRE(run_attn({"convert", data("bert"), "-o", folder / "weights.npz"}).code == 0);
  std::vector<attn::NamedTensor> weights = attn::io::read_tensors(folder / "weights.npz");
  for (attn::NamedTensor& weight : weights) {
    weight.tensor = weight.tensor.cast(weight.tensor.dtype());
    weight.tensor.set(0, std::nan(""));
  }
  attn::io::write_tensors(folder / "nan.npz", weights);
  const Result result =
      run_attn({"embed", data("bert"), "--weights", folder / "nan.npz", "--text", "a", "-o", folder / "x.npz"});
  CHECK(result.code == 3);
  CHECK_MESSAGE(contains(result.err, "the vector of text 1 is NaN or infinite"), result.err);
  CHECK(!std::filesystem::exists(folder / "x.npz"));
}

TEST_CASE("embed: wrong models, texts, lengths and files are errors with a way out") {
  const std::string gpt2 = attn::test::in_repository("tests/data/generation/gpt2/preset");
  const TemporaryFolder folder;
  std::ofstream(folder / "none.txt").flush();
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>> cases = {
      {{"embed", gpt2, "--text", "a"}, 3, "a GPT2CausalLM does not embed texts; expected a TextEmbedder of KerasHub"},
      {{"embed", data("bert"), "--texts", folder / "none.txt"}, 2, "the file contains no texts to embed"},
      {{"embed", data("bert"), "--text", "\xff"}, 2, "UTF-8"},
      {{"embed", data("bert"), "--text", "a", "--prompt-name", "query"}, 2, "has no prompt 'query'; it has no prompts"},
      {{"embed", data("sentence/bert"), "--text", "a", "--prompt-name", "q"}, 2, "its prompts are document, query"},
      {{"embed", data("bert"), "--text", "a", "--seq-len", "65"}, 2, "64 positions, fewer than the --seq-len 65"},
      {{"embed", data("bert"), "--text", "a", "--seq-len", "0"}, 2, "--seq-len"},
      {{"embed", data("bert"), "--text", "a", "-o", folder / "x.csv"}, 2, ".npz"},
      {{"embed", data("bert"), "--text", "a", "--mem-limit", "1"}, 4, "--mem-limit"},
  };
  for (const auto& [command, code, message] : cases) {
    CAPTURE_BINDING(message);
    const Result result = run_attn(command);
    CHECK_MESSAGE(result.code == code, result.err);
    CHECK_MESSAGE(contains(result.err, message), result.err);
  }
}
