// attn heatmap as a user runs it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

using attn::test::contains;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

const std::string kReader =
    R"({"name": "reader", "input_shape": [null, 16], "num_layers": 2, "num_heads": 2, "intermediate_dim": 32})";

}  // namespace

TEST_CASE("heatmap: figures can show all layers, one layer or one head") {
  const json all = json::parse(run_attn({"heatmap", "-", "--seq-len", "9", "--json"}, kReader).out);
  CHECK(all["schema"] == "attn.heatmap/1");
  CHECK(all["layers"].size() == 2);
  CHECK(all["layers"][1]["heads"].size() == 2);
  const json& head = all["layers"][1]["heads"][1];
  CHECK(head["entropy_bits"] > 0);
  CHECK(head["entropy_bits"] < 3.17);  // log2(9)
  CHECK(head["attending_queries"] == 9);
  const json byname = json::parse(
      run_attn({"heatmap", "-", "--seq-len", "9", "--json", "--layer", "multi_head_attention_1", "--head", "1"},
               kReader)
          .out);
  const json bynumber =
      json::parse(run_attn({"heatmap", "-", "--seq-len", "9", "--json", "--layer", "1", "--head", "1"}, kReader).out);
  CHECK(byname["layers"] == bynumber["layers"]);
  // The previous layer returns no weights then, and may use another kernel: the last digits of float32 differ.
  CHECK(byname["layers"][0]["heads"][0]["entropy_bits"].get<double>() ==
        doctest::Approx(head["entropy_bits"].get<double>()).epsilon(1e-5));
}

TEST_CASE("heatmap: every backend gives the same figures") {
  const auto entropy = [](const char* backend) {
    const json out =
        json::parse(run_attn({"heatmap", "-", "--seq-len", "9", "--json", "--backend", backend}, kReader).out);
    return out["layers"][1]["heads"][0]["entropy_bits"].get<double>();
  };
  // Compares float32 with double after two layers.
  CHECK(entropy("onednn") == doctest::Approx(entropy("reference")).epsilon(1e-4));
}

TEST_CASE("heatmap: the extension of -o selects the form") {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"html", "<!doctype html>"}, {"svg", "<svg "}, {"png", "\x89PNG"}, {"json", "{"}, {"txt", "reader: "}};
  for (const auto& [ending, begin] : forms) {
    const std::string path = folder / ("map." + ending);
    CHECK(run_attn({"heatmap", "-", "--seq-len", "9", "-o", path}, kReader).code == 0);
    CHECK(read_text(path).rfind(begin, 0) == 0);
  }
  CHECK(run_attn({"heatmap", "-o", folder / "map.gif"}).code == 2);
}

TEST_CASE("heatmap: an unknown layer, head or item is rejected in a sentence") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> more, int code, const std::string& message) {
    more.insert(more.begin(), {"heatmap", "-", "--seq-len", "9"});
    const Result result = run_attn(more, kReader);
    CAPTURE(result.err);
    CHECK(result.code == code);
    CHECK(contains(result.err, message));
  };
  refused({"--layer", "multi_head_atention"}, 2, "did you mean 'multi_head_attention'?");
  refused({"--layer", "2"}, 2, "there are 2, numbered from 0");
  refused({"--head", "2"}, 2, "--head 2: the layers have 2 heads, counted from 0");
  refused({"--item", "1"}, 2, "there are 1 in the batch");
  refused({"--labels", folder.file("labels", "a\nb\n")}, 3, "expected 9 lines, one for each position, got 2");
  refused({"--skip-padding"}, 2, "not computed");
  const Result plain = run_attn({"heatmap", "-"}, R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}},
    {"class_name": "Dense", "config": {"name": "d", "units": 2}}]}})");
  CHECK(plain.code == 3);
  CHECK(contains(plain.err, "no attention layer"));
}

TEST_CASE("heatmap: a prompt is read as the model's preprocessor reads it, and its tokens label the positions") {
  const Result map = run_attn({"heatmap", attn::test::preset("gpt2"), "--prompt", "the cat sat", "--layer", "0"});
  REQUIRE_MESSAGE(map.code == 0, map.err);
  CHECK(contains(map.out, "token_ids"));
  CHECK(contains(map.out, "the prompt"));
  CHECK(contains(map.out, "<|endoftext|>"));  // the start token
  const auto fails = [](const std::vector<std::string>& words, const std::string& reason) {
    const Result result = run_attn(words, kReader);
    CHECK(result.code == 2);
    CHECK_MESSAGE(contains(result.err, reason), result.err);
  };
  fails({"heatmap", "--prompt", "a"}, "--prompt requires a MODEL");
  fails({"heatmap", attn::test::preset("gpt2"), "--prompt", "a", "--input", "x.npz"}, "--prompt replaces --input");
  fails({"heatmap", attn::test::preset("gpt2"), "--decoder-prompt", "a"}, "--decoder-prompt requires --prompt");
}

TEST_CASE("heatmap: calls of a shared layer are told apart") {
  const std::string albert = R"({"class_name": "AlbertBackbone", "config": {"vocabulary_size": 9, "num_layers": 2,
      "num_heads": 1, "hidden_dim": 8, "intermediate_dim": 8, "embedding_dim": 4}})";
  const Result both = run_attn({"heatmap", "-", "--seq-len", "4"}, albert);
  CHECK(contains(both.out, "self_attention_layer  "));
  CHECK(contains(both.out, "self_attention_layer[1]  "));
  const Result second = run_attn({"heatmap", "-", "--seq-len", "4", "--layer", "1"}, albert);
  CHECK(contains(second.out, "self_attention_layer[1]  "));
}

TEST_CASE("heatmap: labels name the positions, and --cells merges them") {
  const TemporaryFolder folder;
  const std::string labels = folder.file("labels", "the\r\ncat\nsat\n<b>\non\na\nmat\n.\n[SEP]\n");
  const Result one =
      run_attn({"heatmap", "-", "--seq-len", "9", "--labels", labels, "--head", "0", "--layer", "0", "--format", "svg"},
               kReader);
  CHECK(contains(one.out, ">cat</text>"));
  CHECK(contains(one.out, ">&lt;b&gt;</text>"));
  CHECK(contains(one.out, ">the</text>"));
  const Result joined = run_attn({"heatmap", "-", "--seq-len", "9", "--cells", "3", "--format", "html"}, kReader);
  CHECK(contains(joined.out, "a cell is 3 queries by 3 keys and shows the mean of their weights"));
}

TEST_CASE("heatmap: padding is excluded from the figures, and reported") {
  const std::string model = R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 5], "dtype": "int32", "name": "x"}, "name": "x",
     "inbound_nodes": []},
    {"class_name": "Embedding", "config": {"name": "e", "input_dim": 9, "output_dim": 4, "mask_zero": true}, "name": "e",
     "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 5], "dtype": "int32",
       "keras_history": ["x", 0, 0]}}], "kwargs": {}}]},
    {"class_name": "MultiHeadAttention", "config": {"name": "a", "num_heads": 2, "key_dim": 2}, "name": "a",
     "inbound_nodes": [{"args": [
       {"class_name": "__keras_tensor__", "config": {"shape": [null, 5, 4], "dtype": "float32", "keras_history": ["e", 0, 0]}},
       {"class_name": "__keras_tensor__", "config": {"shape": [null, 5, 4], "dtype": "float32", "keras_history": ["e", 0, 0]}}],
       "kwargs": {}}]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["a", 0, 0]]}, "registered_name": "Functional"})";
  const TemporaryFolder folder;
  attn::Tensor tokens(attn::DType::int32, {1, 5});
  for (std::int64_t i = 0; i < 3; ++i) tokens.set(i, 4);
  attn::io::write_tensors(folder / "x.npz", std::vector<attn::NamedTensor>{{"x", tokens}});
  const std::string path = folder.file("m.json", model), labels = folder.file("l.txt", "a\nb\nc\nPAD1\nPAD2\n");
  const json out = json::parse(run_attn({"heatmap", path, "--input", folder / "x.npz", "--json"}).out);
  CHECK(out["layers"][0]["hidden_queries"] == 2);
  CHECK(out["layers"][0]["heads"][0]["attending_queries"] == 3);
  CHECK(out["layers"][0]["heads"][0]["entropy_bits"].get<double>() <= 1.5851);  // log2 of three keys
  const Result text = run_attn({"heatmap", path, "--input", folder / "x.npz", "--labels", labels});
  CHECK(contains(text.out, "Averages exclude padding: the mask of a"));
  CHECK_FALSE(contains(text.out, "PAD1"));
}

TEST_CASE("heatmap: a picture of a few heads shows their labels, and a larger one reports that it has none") {
  const TemporaryFolder folder;
  const std::string labels = folder.file("l.txt", "one\ntwo\nthree\n");
  const std::vector<std::string> line{"heatmap", "-", "--seq-len", "3", "--labels", labels, "--format"};
  const auto drawn = [&](const std::string& form, const std::vector<std::string>& more, const std::string& model) {
    std::vector<std::string> words = line;
    words.push_back(form);
    words.insert(words.end(), more.begin(), more.end());
    return run_attn(words, model);
  };
  const Result two = drawn("svg", {"--layer", "0"}, kReader);
  CHECK(contains(two.err, "the inputs are random, not these labels"));
  for (const char* word : {">one</text>", ">three</text>", "queries down, keys across", "seed 0"})
    CHECK_MESSAGE(contains(two.out, word), word);
  const Result bare = drawn("svg", {"--layer", "0", "--no-header"}, kReader);
  CHECK(contains(bare.out, ">one</text>"));
  CHECK_FALSE(contains(bare.out, "seed 0"));
  CHECK(contains(drawn("png", {"-o", folder / "m.png"}, kReader).err, "a PNG has no labels of positions"));
  const std::string many =
      R"({"name": "many", "input_shape": [null, 36], "num_layers": 1, "num_heads": 18, "intermediate_dim": 8})";
  CHECK(contains(drawn("svg", {}, many).err, "the positions of 18 heads are not labeled"));
  CHECK(run_attn({"heatmap", "-", "--no-header"}, kReader).code == 2);
}
