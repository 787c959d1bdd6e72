// attn heatmap as a user runs it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../text.h"
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

TEST_CASE("heatmap: figures of the heads, of all layers, one layer, one head") {
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
  // The layer before gives no weights then, and may take another kernel: float32's last digits.
  CHECK(byname["layers"][0]["heads"][0]["entropy_bits"].get<double>() ==
        doctest::Approx(head["entropy_bits"].get<double>()).epsilon(1e-5));
}

TEST_CASE("heatmap: every backend gives the same figures") {
  const auto entropy = [](const char* backend) {
    const json out =
        json::parse(run_attn({"heatmap", "-", "--seq-len", "9", "--json", "--backend", backend}, kReader).out);
    return out["layers"][1]["heads"][0]["entropy_bits"].get<double>();
  };
  // float32 against double through two layers.
  CHECK(entropy("onednn") == doctest::Approx(entropy("reference")).epsilon(1e-4));
}

TEST_CASE("heatmap: the ending of -o chooses the form") {
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

TEST_CASE("heatmap: what is not there is refused in a sentence") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> more, int code, const std::string& message) {
    more.insert(more.begin(), {"heatmap", "-", "--seq-len", "9"});
    const Result result = run_attn(more, kReader);
    CAPTURE(result.err);
    CHECK(result.code == code);
    CHECK(contains(result.err, message));
  };
  refused({"--layer", "multi_head_atention"}, 2, "did you mean 'multi_head_attention'?");
  refused({"--layer", "2"}, 2, "the model has 2 attention layers, from 0 on");
  refused({"--head", "2"}, 2, "--head 2: the layers have fewer heads");
  refused({"--item", "1"}, 2, "there are 1 in the batch");
  refused({"--labels", folder.file("labels", "a\nb\n")}, 3, "holds 2 lines, but there are 9 positions");
  refused({"--skip-padding"}, 2, "not computed");
  const Result plain = run_attn({"heatmap", "-"}, R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}},
    {"class_name": "Dense", "config": {"name": "d", "units": 2}}]}})");
  CHECK(plain.code == 3);
  CHECK(contains(plain.err, "no attention layer"));
}

TEST_CASE("heatmap: the calls of a layer that is called again are told apart") {
  const std::string albert = R"({"class_name": "AlbertBackbone", "config": {"vocabulary_size": 9, "num_layers": 2,
      "num_heads": 1, "hidden_dim": 8, "intermediate_dim": 8, "embedding_dim": 4}})";
  const Result both = run_attn({"heatmap", "-", "--seq-len", "4"}, albert);
  CHECK(contains(both.out, "self_attention_layer  "));
  CHECK(contains(both.out, "self_attention_layer[1]  "));
  const Result second = run_attn({"heatmap", "-", "--seq-len", "4", "--layer", "1"}, albert);
  CHECK(contains(second.out, "self_attention_layer[1]  "));
}

TEST_CASE("heatmap: labels name the positions, and --cells joins them") {
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
