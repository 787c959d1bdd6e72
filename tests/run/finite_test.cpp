// The origin of NaN and infinities in a pass, on both CPU backends.
#include "attn/run/finite.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "attn/backends/registry.h"
#include "attn/keras/model.h"

namespace {

using namespace attn;
using run::FiniteCheck;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string dense(const std::string& name, const std::string& policy, const std::string& activation = "linear") {
  return R"({"module": "keras.layers", "class_name": "Dense", "config": {"name": ")" + name +
         R"(", "units": 4, "activation": ")" + activation + R"(", "dtype": ")" + policy + R"("}})";
}

const std::string kDropout =
    R"({"module": "keras.layers", "class_name": "Dropout", "config": {"name": "dropout", "rate": 0.1}})";

std::string sequential(const std::string& name, const std::vector<std::string>& layers) {
  std::string list = R"({"module": "keras.layers", "class_name": "InputLayer", "config": {"name": ")" + name +
                     R"(_input", "batch_shape": [2, 4], "dtype": "float32"}})";
  for (const std::string& layer : layers) list += ", " + layer;
  return R"({"module": "keras", "class_name": "Sequential", "config": {"name": ")" + name + R"(", "layers": [)" + list +
         "]}}";
}

Tensor filled(const Shape& shape, DType dtype, double value) {
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value);
  return tensor;
}

/// The findings on a backend, with all weights equal to `weight`, except element 5 of the weight `broken`, which is
/// NaN.
FiniteCheck check(const std::string& backend_name, const std::string& model, double input, double weight,
                  const std::string& broken = "") {
  const graph::Graph graph = keras::Model::read("it.json", model, {}).lower({});
  std::vector<Tensor> weights;
  for (const graph::WeightSpec& spec : graph.weights) {
    weights.push_back(filled(spec.shape, spec.dtype, spec.shape.rank() == 1 ? 0 : weight));
    if (spec.path == broken) weights.back().set(5, kNaN);
  }
  std::vector<Tensor> inputs = {filled({2, 4}, DType::float32, 1)};
  inputs[0].set(6, input);
  const auto backend = backends::make_backend("cpu", backend_name).backend;
  run::Session session(*backend, graph, weights, {}, run::Keep::layer_outputs);
  session.run(inputs);
  REQUIRE(session.outputs().size() == 1);
  return run::check_finite(graph, inputs, weights, session.layer_outputs());
}

const std::vector<std::string> kBackends = {"reference", "onednn"};

}  // namespace

TEST_CASE("finite: a model with finite numbers has no finding, and every layer is checked") {
  for (const std::string& backend : kBackends) {
    CAPTURE(backend);
    const FiniteCheck found =
        check(backend, sequential("m", {dense("a", "float32", "relu"), kDropout, dense("b", "mixed_float16")}), 1, 0.5);
    CHECK(found.finite());
    CHECK(found.checked == 3);
    CHECK(found.source() == nullptr);
  }
}

TEST_CASE("finite: a Dense that overflows float16 inside a nested model is named, and later layers are not") {
  const std::string inner =
      sequential("block", {dense("small", "mixed_float16"), dense("big", "mixed_float16", "relu"), kDropout});
  for (const std::string& backend : kBackends) {
    CAPTURE(backend);
    // 1 → 4·100 → 4·100·400 > 65504
    const FiniteCheck found = check(backend, sequential("m", {inner, dense("head", "mixed_float16")}), 1, 100);
    CHECK(found.inputs.empty());
    REQUIRE(found.source() != nullptr);
    CHECK(found.source() == &found.outputs.front());
    CHECK(found.source()->array.name == "block/big");
    CHECK(found.source()->array.dtype == DType::float16);
    CHECK(found.source()->array.inf_count == 8);
    CHECK(found.source()->array.nan_count == 0);
    CHECK(found.source()->array.first_index == std::vector<std::int64_t>{0, 0});
    CHECK(found.source()->weights.empty());
    std::vector<std::string> names;
    for (const auto& output : found.outputs) {
      names.push_back(output.array.name);
      CHECK(output.source == (output.array.name == "block/big"));
    }
    CHECK(names == std::vector<std::string>{"block/big", "block/dropout", "block", "head"});
  }
}

TEST_CASE("finite: non-finite input is attributed to the input, also if a layer makes NaN of it") {
  for (const std::string& backend : kBackends) {
    CAPTURE(backend);
    const FiniteCheck found =
        check(backend, sequential("m", {dense("a", "float32"), dense("b", "float32", "softmax")}), kInf, 1);
    REQUIRE(found.inputs.size() == 1);
    CHECK(found.inputs[0].name == "m_input");
    CHECK(found.inputs[0].inf_count == 1);
    CHECK(found.inputs[0].first_index == std::vector<std::int64_t>{1, 2});
    CHECK(found.outputs.size() == 2);
    CHECK(found.source() == nullptr);
  }
}

TEST_CASE("finite: an input beyond a layer's float16 range is attributed to the layer") {
  for (const std::string& backend : kBackends) {
    CAPTURE(backend);
    const FiniteCheck found = check(backend, sequential("m", {dense("a", "mixed_float16")}), 1e6, 1);
    CHECK(found.inputs.empty());
    REQUIRE(found.source() != nullptr);
    CHECK(found.source()->array.name == "a");
    CHECK(found.source()->array.first_index == std::vector<std::int64_t>{1, 0});
  }
}

TEST_CASE("finite: NaN in a weight is reported with the layer that reads it") {
  for (const std::string& backend : kBackends) {
    CAPTURE(backend);
    const FiniteCheck found =
        check(backend, sequential("m", {dense("a", "float32"), dense("b", "float32"), dense("c", "float32")}), 1, 0.5,
              "m/b/kernel");
    REQUIRE(found.source() != nullptr);
    CHECK(found.source()->array.name == "b");
    CHECK(found.source()->array.nan_count == 2);
    REQUIRE(found.source()->weights.size() == 1);
    CHECK(found.source()->weights[0].name == "m/b/kernel");
    CHECK(found.source()->weights[0].nan_count == 1);
    CHECK(found.source()->weights[0].first_index == std::vector<std::int64_t>{1, 1});
    CHECK(found.outputs.size() == 2);
  }
}

TEST_CASE("finite: a session without Keep::layer_outputs has no findings") {
  const graph::Graph graph = keras::Model::read("it.json", sequential("m", {dense("a", "float32")}), {}).lower({});
  std::vector<Tensor> weights;
  for (const graph::WeightSpec& spec : graph.weights) weights.emplace_back(spec.dtype, spec.shape);
  const auto backend = backends::make_backend("cpu", "onednn").backend;
  const run::Session session(*backend, graph, weights, {});
  CHECK(session.layer_outputs().empty());
  CHECK(session.outputs().size() == 1);
}
