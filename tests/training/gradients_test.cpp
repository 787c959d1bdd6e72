// Gradients of whole models, compared with Keras in float64 (tests/data/gradients, tests/data/training).
#include "attn/gradients/gradients.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "../capture.h"
#include "../largest.h"
#include "../places.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/model.h"
#include "attn/run/gradients.h"
#include "attn/run/inputs.h"
#include "attn/run/session.h"
#include "attn/weights/bind.h"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using graph::ValueId;
using nlohmann::json;
using Arrays = std::map<std::string, Tensor>;

Arrays read_arrays(const fs::path& file) {
  Arrays out;
  for (const NamedTensor& array : io::read_tensors(file.string())) out.emplace(array.name, array.tensor);
  return out;
}

Tensor rows_of(const Tensor& x, std::int64_t rows) {
  Shape shape = x.shape();
  shape[0] = std::min(rows, shape[0]);
  return {x.dtype(), shape, x.owner()};
}

/// A model with the first batch of its data, and Keras's results.
struct Case {
  fs::path folder;
  keras::Model model;
  std::vector<Tensor> weights;
  Arrays data, expected;
  json meta;
  std::optional<std::string> loss;

  /// Computes in `dtype`, or by the layers' policies.
  [[nodiscard]] keras::LossGraph lower(const std::optional<std::string>& dtype = {}) const {
    keras::LowerOptions options;
    options.dtype = dtype;
    keras::LossOptions how;
    how.loss = loss;
    const std::vector<std::string> inputs = model.input_names();
    for (const auto& [name, tensor] : data) {
      if (std::ranges::find(inputs, name) != inputs.end()) {
        options.input_shapes.emplace(name, tensor.shape());
      } else {
        how.arrays[name] = {tensor.dtype(), tensor.shape()};
      }
    }
    options.batch = data.begin()->second.shape()[0];
    return model.lower_loss(options, how);
  }
};

Case read_case(const fs::path& folder) {
  const bool trained = fs::exists(folder / "start.keras");
  const std::string archive = (folder / (trained ? "start.keras" : "model.keras")).string();
  keras::Model model = keras::Model::read(archive, io::parse_keras_archive(io::read_file(archive), archive).config);
  std::vector<Tensor> weights = weights::bind(model.weights(), archive);
  Case out{folder, std::move(model), std::move(weights), {}, read_arrays(folder / "gradients.npz"), {}, {}};
  if (trained) {
    std::ifstream file(folder / "meta.json");
    out.meta = json::parse(file);
    out.data = read_arrays(folder / "data.npz");
    for (auto& [name, tensor] : out.data) tensor = rows_of(tensor, out.meta["batch"].get<std::int64_t>());
  } else {
    out.loss = "mean_squared_error";  // for the first output
    out.data = read_arrays(folder / "inputs.npz");
    out.data.emplace("y", read_arrays(folder / "target.npz").at("target"));
  }
  return out;
}

std::vector<fs::path> case_folders() {
  std::vector<fs::path> out;
  for (const char* root : {"tests/data/gradients", "tests/data/training"})
    for (const auto& entry : fs::recursive_directory_iterator(in_repository(root)))
      if (entry.path().filename() == "gradients.npz") out.push_back(entry.path().parent_path());
  std::ranges::sort(out);
  return out;
}

/// Named as in gradients.npz: "dense/kernel", "input:x".
std::vector<std::pair<std::string, ValueId>> wanted_of(const Case& one, const graph::Graph& graph) {
  std::vector<std::pair<std::string, ValueId>> out;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const graph::Value& value = graph.values[i];
    const bool is_weight = value.kind == graph::ValueKind::weight;
    if (!is_weight && value.kind != graph::ValueKind::input) continue;
    const std::string name = is_weight ? value.name : "input:" + value.name;
    // Keras omits the wrapper's name if the layers were built before.
    for (const auto& [key, tensor] : one.expected)
      if (name == key || name.ends_with("/" + key)) out.emplace_back(key, static_cast<ValueId>(i));
  }
  return out;
}

/// Four times the error of Keras's own float32 run, or 2e-6 of the array's largest number if that is more. If the
/// gradient is 0 except for rounding, the largest number of all arrays counts instead.
double tolerance(const Case& one, const std::string& name, double largest_of_all) {
  double own = 0.0;
  bool undetermined = false;
  if (one.meta.contains("gradient_error") && one.meta["gradient_error"].contains(name)) {
    own = one.meta["gradient_error"][name].get<double>();
    undetermined = std::ranges::count(one.meta["undetermined"].get<std::vector<std::string>>(), name) > 0;
  }
  const double size = largest(one.expected.at(name));
  if (one.meta.is_null()) undetermined = size < 1e-6 * largest_of_all;
  return std::max(4.0 * own, 2e-6 * (undetermined ? largest_of_all : size));
}

void check_gradients_of(const Case& one, const backends::Backend& backend) {
  CAPTURE(one.folder.string());
  const keras::LossGraph lowered = one.lower();
  const auto wanted = wanted_of(one, lowered.graph);
  REQUIRE(wanted.size() + 1 == one.expected.size());
  std::vector<ValueId> values;
  for (const auto& [name, id] : wanted) values.push_back(id);
  gradients::Differentiated backward = gradients::differentiate(lowered.graph, lowered.loss, values);
  REQUIRE_NOTHROW(graph::verify(backward.graph));
  backward.graph.outputs = {{"loss", lowered.loss}};
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (backward.gradients[i] != graph::kNone)
      backward.graph.outputs.push_back({wanted[i].first, backward.gradients[i]});
  const std::vector<Tensor> inputs = run::make_inputs(backward.graph, one.data, 0);
  run::Session session(backend, std::move(backward.graph), one.weights, {2});
  session.run(inputs);
  double largest_of_all = 0.0;
  for (const auto& [name, tensor] : one.expected)
    if (name != "loss") largest_of_all = std::max(largest_of_all, largest(tensor));
  std::set<std::string> seen;
  for (const NamedTensor& got : session.outputs()) {
    CAPTURE(got.name);
    seen.insert(got.name);
    const Tensor& expected = one.expected.at(got.name);
    REQUIRE(got.tensor.size() == expected.size());
    CHECK(largest_error(expected, got.tensor) <= tolerance(one, got.name, largest_of_all));
  }
  for (const auto& [name, tensor] : one.expected) {
    CAPTURE_BINDING(name);
    if (!seen.contains(name)) CHECK(largest(tensor) == 0.0);  // Keras returns zeros if there is no path
  }
}

/// The gradients by weight of a model that computes in `dtype`. The loss is scaled as in float16 training.
Arrays gradients_in(const Case& one, const std::optional<std::string>& dtype) {
  const keras::LossGraph lowered = one.lower(dtype);
  const auto wanted = wanted_of(one, lowered.graph);
  std::vector<ValueId> values;
  for (const auto& [name, id] : wanted) values.push_back(id);
  graph::Graph graph = lowered.graph;
  graph::Builder b(graph);
  constexpr double kScale = 1024.0;
  const ValueId loss = b.binary(graph::BinaryFn::multiply, lowered.loss, b.scalar_like(lowered.loss, kScale));
  gradients::Differentiated backward = gradients::differentiate(std::move(graph), loss, values);
  backward.graph.outputs.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (backward.gradients[i] != graph::kNone)
      backward.graph.outputs.push_back({wanted[i].first, backward.gradients[i]});
  const std::vector<Tensor> inputs = run::make_inputs(backward.graph, one.data, 0);
  const auto backend = backends::make_cpu_backend();
  run::Session session(*backend, std::move(backward.graph), one.weights, {2});
  session.run(inputs);
  Arrays out;
  for (const NamedTensor& got : session.outputs()) out.emplace(got.name, got.tensor.cast(DType::float64));
  return out;
}

/// √Σ(x − y)² and √Σx²
std::pair<double, double> distance(const Tensor& x, const Tensor& y) {
  double apart = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    apart += (x.at(i) - y.at(i)) * (x.at(i) - y.at(i));
    size += x.at(i) * x.at(i);
  }
  return {std::sqrt(apart), std::sqrt(size)};
}

}  // namespace

TEST_CASE("training: gradients of models equal Keras's on the reference backend") {
  for (const fs::path& folder : case_folders())
    check_gradients_of(read_case(folder), *backends::make_reference_backend());
}

TEST_CASE("training: gradients of models equal Keras's on the CPU kernels") {
  for (const fs::path& folder : case_folders()) check_gradients_of(read_case(folder), *backends::make_cpu_backend());
}

TEST_CASE("training: mixed policies change gradients by no more than docs/train.md says") {
  struct Bound {
    const char* dtype;
    double unit;
  };
  constexpr double kOfAll = 8.0, kOfOne = 32.0, kOfRest = 4.0;
  for (const Bound& bound : {Bound{"bfloat16", 0x1p-8}, Bound{"float16", 0x1p-11}}) {
    for (const fs::path& folder : case_folders()) {
      CAPTURE(folder.string());
      const Case one = read_case(folder);
      if (one.meta.contains("policy") && one.meta["policy"].is_string())
        continue;  // the policy already uses half precision
      const Arrays exact = gradients_in(one, {}), half = gradients_in(one, bound.dtype);
      double apart = 0.0, size = 0.0;
      for (const auto& [name, gradient] : exact) {
        const auto [off, norm] = distance(gradient, half.at(name));
        apart += off * off;
        size += norm * norm;
      }
      for (const auto& [name, gradient] : exact) {
        const auto [off, norm] = distance(gradient, half.at(name));
        CAPTURE_BINDING(name);
        CHECK(off <= bound.unit * std::max(kOfOne * norm, kOfRest * std::sqrt(size)));
      }
      CHECK(std::sqrt(apart) <= kOfAll * bound.unit * std::sqrt(size));
    }
  }
}

TEST_CASE("training: gradients of models agree with central differences in float64") {
  for (const char* name : {"model/vit_tiny", "mask/average_pool", "regularizer/all", "norm/batch"}) {
    CAPTURE(name);
    const Case one = read_case(in_repository(std::string("tests/data/training/") + name));
    const keras::LossGraph lowered = one.lower();
    std::vector<ValueId> values;
    for (const auto& [weight, id] : wanted_of(one, lowered.graph)) values.push_back(id);
    const std::vector<Tensor> inputs = run::make_inputs(lowered.graph, one.data, 0);
    run::GradientCheckOptions options;
    options.directions = 1;
    for (const run::GradientCheckRow& row :
         run::check_gradients(lowered.graph, lowered.loss, values, inputs, one.weights, options))
      CHECK_MESSAGE(row.pass, fmt::format("{}: {} and {}", row.name, row.measured, row.computed));
  }
}

}  // namespace attn::test
