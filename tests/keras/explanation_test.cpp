// The origin of parameters and FLOPs: the lines of every layer of every case add up.
#include "attn/keras/explanation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "../places.h"
#include "attn/keras/model.h"
#include "attn/plan/plan.h"

namespace {

using namespace attn;
using keras::Count;

/// A model with everything that an explainer reads.
struct Explained {
  explicit Explained(const std::string& text, const keras::ReadOptions& read = {})
      : model(keras::Model::read("model.json", text, read)),
        anatomy(model.anatomy(size(text.find("MoonshineBackbone") == std::string::npos ? 5 : 2400))),
        plan(plan::make_plan(anatomy.graph)),
        explainer(anatomy, plan.graph, plan.steps) {}
  /// Moonshine reads samples, of which its convolutions need hundreds.
  static keras::LowerOptions size(std::int64_t length) {
    keras::LowerOptions options;
    options.sequence_length = length;
    return options;
  }
  [[nodiscard]] keras::Explanation of(const std::string& name) const {
    const auto part = explainer.find(name);
    REQUIRE(part.has_value());
    return explainer.explain(*part);
  }

  keras::Model model;
  keras::Anatomy anatomy;
  plan::Plan plan;
  keras::Explainer explainer;
};

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The symbols and numbers of a product, without spaces: "d_model.h.64".
std::string spelled(const keras::Product& line) {
  std::string out;
  for (const keras::NamedNumber& factor : line.factors)
    out += (out.empty() ? "" : ".") +
           (factor.symbol.empty() ? std::to_string(std::uint64_t(factor.value)) : factor.symbol);
  return out;
}

std::string layer(const std::string& class_name, const std::string& config) {
  return R"({"module": "keras.layers", "class_name": ")" + class_name + R"(", "config": {"name": "it", )" + config +
         R"(}, "registered_name": null})";
}

keras::ReadOptions shape(Shape shape) {
  keras::ReadOptions options;
  options.input_shape = std::move(shape);
  return options;
}

}  // namespace

TEST_CASE("explanation: the lines of every layer of every case add up to the summary's totals") {
  namespace fs = std::filesystem;
  int cases = 0;
  for (const auto& entry : fs::recursive_directory_iterator(attn::test::in_repository("tests/data/keras"))) {
    if (entry.path().filename() != "model.json") continue;
    const std::string path = entry.path().string();
    CAPTURE(path);
    ++cases;
    const Explained explained(read_text(path));
    const keras::Summary summary = explained.model.summary();
    for (const std::string& name : explained.explainer.names()) {
      CAPTURE(name);
      const keras::Explanation it = explained.of(name);
      Count params = 0, flops = 0, identities = 0;
      for (const keras::Product& line : it.params) {
        params += line.value;
        if (line.factors.empty()) continue;
        Count product = 1;
        for (const keras::NamedNumber& factor : line.factors) product *= factor.value;
        CHECK(bool(product == line.value));
      }
      for (const keras::Product& line : it.flops) {
        flops += line.value;
        if (line.factors.empty()) continue;
        Count product = static_cast<Count>(line.calls);
        for (const keras::NamedNumber& factor : line.factors) product *= factor.value;
        CHECK(bool(product == line.value));
      }
      for (const keras::Identity& identity : it.identities) identities += identity.value;
      CHECK(bool(params == it.total_params));
      CHECK(bool(flops == it.total_flops));
      if (!it.identities.empty()) CHECK(bool(identities == it.total_params));
      CHECK((it.total_params == 0 && !it.class_name.empty()) == !it.no_params.empty());
      // A symbol has a single size, and a meaning.
      for (const keras::Symbol& symbol : it.symbols) CHECK((symbol.symbol.size() == 1 || !symbol.meaning.empty()));
    }
    Count of_classes = 0;
    for (const keras::ClassTotals& row : explained.explainer.classes()) {
      CAPTURE(row.class_name);
      of_classes += row.params;
      CHECK_FALSE(row.how.empty());
    }
    CHECK(bool(of_classes == summary.total_params));
  }
  CHECK(cases > 150);
}

TEST_CASE("explanation: attention has 4·d² parameters if heads fill the width, and a longer formula if not") {
  const Explained explained(keras::Model::builtin_encoder());
  const keras::Explanation it = explained.of("multi_head_attention");
  REQUIRE(it.params.size() == 8);
  CHECK(it.params[0].what == "query/kernel");
  CHECK(spelled(it.params[0]) == "d_model.h.d_head");
  CHECK(spelled(it.params[6]) == "h.d_head.d_model");
  REQUIRE(it.identities.size() == 2);
  CHECK(it.identities[0].formula == "3·d_model² + d_model² = 4·d_model²");
  CHECK(it.identities[0].since == "h·d_head = d_model");
  CHECK(it.identities[1].formula == "3·h·d_head + d_model = 4·d_model");
  CHECK(spelled(it.flops[0]) == "2.B.T.d_model.h.d_head");
  CHECK(it.flops[6].what == "scores: multiply and add");
  CHECK(spelled(it.flops[6]) == "2.B.h.T.S.d_head");

  const Explained odd(layer("MultiHeadAttention", R"("num_heads": 3, "key_dim": 5, "value_dim": 7)"), shape({4, 16}));
  const keras::Explanation other = odd.of("it");
  CHECK(spelled(other.params[4]) == "d_model.h.d_v");
  REQUIRE(other.identities.size() == 2);
  CHECK(other.identities[0].formula == "2·d_model·h·d_head + 2·d_model·h·d_v");
  CHECK(other.identities[0].since.empty());
}

TEST_CASE("explanation: grouped heads, gated layers and the equation's letters are shown") {
  const Explained grouped(
      layer("GroupQueryAttention", R"("head_dim": 4, "num_query_heads": 6, "num_key_value_heads": 2)"), shape({3, 10}));
  CHECK(spelled(grouped.of("it").params[2]) == "d_model.g.d_head");
  const Explained lstm(layer("LSTM", R"("units": 6)"), shape({3, 10}));
  CHECK(spelled(lstm.of("it").params[0]) == "d_in.4·u");
  CHECK(spelled(lstm.of("it").params[1]) == "u.4·u");
  const Explained einsum(layer("EinsumDense", R"("equation": "abc,cde->abde", "output_shape": [null, 4, 5])"),
                         shape({3, 10}));
  CHECK(spelled(einsum.of("it").params[0]) == "c.d.e");
}

namespace {

/// Every line of FLOPs as "what: symbols".
std::vector<std::string> flops_of(const keras::Explanation& it) {
  std::vector<std::string> out;
  for (const keras::Product& line : it.flops) out.push_back(line.what + ": " + spelled(line));
  return out;
}

std::vector<std::string> flops_of(const std::string& class_name, const std::string& config, Shape input) {
  return flops_of(Explained(layer(class_name, config), shape(std::move(input))).of("it"));
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("explanation: convolutions are shown by their inputs, output cells and filters") {
  CHECK(flops_of("Conv1D", R"("filters": 6, "kernel_size": 3)", {5, 4}) ==
        Lines{"multiply and add: 2.B.o.k.c_in.f", "bias: B.o.f"});
  CHECK(flops_of("Conv1D", R"("filters": 6, "kernel_size": 3, "padding": "same")", {5, 4}) ==
        Lines{"multiply and add: 2.B.r.c_in.f", "bias: B.o.f"});
  CHECK(flops_of("Conv2D", R"("filters": 6, "kernel_size": [3, 2], "groups": 2, "activation": "tanh")", {7, 8, 4}) ==
        Lines{"multiply and add: 2.B.o_h.k_h.o_w.k_w.c_in.f", "bias: B.o_h.o_w.f", "tanh: B.o_h.o_w.f"});
  CHECK(flops_of("Conv2D", R"("filters": 6, "kernel_size": [3, 2], "padding": "same", "strides": 2)", {7, 9, 4}) ==
        Lines{"multiply and add: 2.B.r_h.r_w.c_in.f", "bias: B.o_h.o_w.f"});
  CHECK(flops_of("DepthwiseConv2D", R"("kernel_size": [3, 2], "depth_multiplier": 2)", {7, 8, 4}) ==
        Lines{"multiply and add: 2.B.o_h.k_h.o_w.k_w.c_in·m", "bias: B.o_h.o_w.c_in·m"});
  CHECK(flops_of("DepthwiseConv1D", R"("kernel_size": 3)", {7, 4}) ==
        Lines{"multiply and add: 2.B.o.k.c_in·m", "bias: B.o.c_in·m"});
  CHECK(flops_of("SeparableConv2D", R"("filters": 5, "kernel_size": [3, 2], "padding": "same")", {7, 8, 4}) ==
        Lines{"multiply and add: 2.B.r_h.r_w.c_in·m", "multiply and add: 2.B.o_h.o_w.c_in·m.f", "bias: B.o_h.o_w.f"});
  CHECK(flops_of("Conv2DTranspose", R"("filters": 6, "kernel_size": [3, 2])", {7, 8, 4}) ==
        Lines{"multiply and add: 2.B.o_h.k_h.o_w.k_w.c_in.f", "bias: B.o_h.o_w.f"});
  CHECK(flops_of("AveragePooling1D", R"("pool_size": 3, "strides": 1, "padding": "same")", {5, 4}) ==
        Lines{"sum: B.r.c", "quotient: B.o.c"});
  const Explained same(layer("Conv1D", R"("filters": 6, "kernel_size": 3, "padding": "same")"), shape({5, 4}));
  for (const keras::Symbol& symbol : same.of("it").symbols)
    if (symbol.symbol == "r") CHECK(bool(symbol.value == 5 * 3 - 2));
}

TEST_CASE("explanation: attention without projections shows its scores, scale and values") {
  const auto of_case = [](const std::string& name, const std::string& layer_name) {
    const Explained explained(
        read_text(attn::test::in_repository("tests/data/keras/attention/") + name + "/model.json"));
    return flops_of(explained.of(layer_name));
  };
  CHECK(of_case("dot_scale", "attention") == Lines{"scores: multiply and add: 2.B.T.S.d_model",
                                                   "scale: multiply: B.T.S", "softmax: 4.B.T.S",
                                                   "weighted values: multiply and add: 2.B.T.d_model.S"});
  CHECK(of_case("additive", "additive_attention") ==
        Lines{"query and key: add: B.T.S.d_model", "tanh: B.T.S.d_model", "scale: multiply: B.T.S.d_model",
              "sum: B.T.S.d_model", "softmax: 4.B.T.S", "weighted values: multiply and add: 2.B.T.d_model.S"});
  CHECK(of_case("concat", "attention")[4] == "concat_score_weight: multiply: B.T.S");
}

TEST_CASE("explanation: embeddings and heads count a vocabulary, and a composite layer's own part is named") {
  const Explained backward(
      read_text(attn::test::in_repository("tests/data/keras/families/hub_masked_lm_head/model.json")));
  int heads = 0;
  for (const std::string& name : backward.explainer.names()) {
    const keras::Explanation it = backward.of(name);
    if (it.class_name == "ReversibleEmbedding") CHECK(spelled(it.params[0]) == "V.d_model");
    if (it.class_name == "ReversibleEmbedding" && !it.flops.empty())
      CHECK(flops_of(it)[0] == "multiply and add: 2.B.T.V.d_model");
    if (it.class_name != "MaskedLMHead") continue;
    ++heads;
    CHECK(it.params.back().what == "output_bias");
    CHECK(spelled(it.params.back()) == "V");
    const Lines lines = flops_of(it);
    CHECK(std::count(lines.begin(), lines.end(), "add: B.T.V") == 1);
  }
  CHECK(heads > 0);
  const Explained vit(read_text(attn::test::in_repository("tests/data/keras/hub/vit_backbone/model.json")));
  CHECK(spelled(vit.of("vit_patching_and_embedding").params.back()) == "1.1.d_model");
  for (const keras::ClassTotals& row : vit.explainer.classes())
    if (row.class_name == "ViTPatchingAndEmbedding") CHECK(row.how == "those of the 2 layers in it, and its own");
}

TEST_CASE("explanation: a layer without parameters shows the reason") {
  const std::vector<std::pair<std::string, std::string>> rows = {{"Dropout", "only in training"},
                                                                 {"Flatten", "only moves elements"},
                                                                 {"GlobalAveragePooling1D", "means or maxima"},
                                                                 {"Softmax", "fixed function"},
                                                                 {"Attention", "use_scale is off"},
                                                                 {"Identity", "returns its input"}};
  for (const auto& row : rows) {
    const auto& class_name = row.first;
    const auto& reason = row.second;
    CAPTURE(class_name);
    const std::string config = class_name == "Dropout" ? R"("rate": 0.1)" : R"("trainable": true)";
    CHECK(Explained(layer(class_name, config), shape({4, 6})).of("it").no_params.find(reason) != std::string::npos);
  }
}

TEST_CASE("explanation: a part of a layer is found by its path, also in a nested model") {
  const Explained explained(keras::Model::builtin_encoder());
  CHECK(explained.of("multi_head_attention/query").total_params == 512 * 8 * 64 + 512);
  CHECK(explained.explainer.find("multi_head_attention/attention").has_value());
  CHECK_FALSE(explained.explainer.find("nothing").has_value());
}
