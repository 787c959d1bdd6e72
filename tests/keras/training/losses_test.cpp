// Every loss class, compared with Keras's results in float64 (tests/data/training/losses.npz).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "../../evaluate.h"
#include "../../places.h"
#include "attn/gradients/gradients.h"
#include "attn/io/tensor_file.h"
#include "training/loss.h"
#include "training/reduction.h"

namespace attn::test {
namespace {

using graph::ValueId;
using keras::Json;
using keras::Labels;

using Arrays = std::map<std::string, Tensor>;

Arrays read_arrays() {
  Arrays out;
  for (const NamedTensor& array : io::read_tensors(in_repository("tests/data/training/losses.npz")))
    out.emplace(array.name, array.tensor);
  return out;
}

/// The largest difference relative to the largest number, or to 1 if that is larger.
double largest_difference(const Tensor& expected, const Tensor& got) {
  double worst = 0.0, size = 1.0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(expected.at(i) - got.at(i)));
    size = std::max(size, std::abs(expected.at(i)));
  }
  return worst / size;
}

/// A row of the index: a loss with one set of targets and predictions.
struct LossCase {
  Json config;
  Tensor y_true, y_pred;
  Tensor weights, mask;

  struct Result {
    Tensor value, gradient;
  };
  /// With a reduction, and optionally weights and a mask.
  [[nodiscard]] Result run(const std::string& reduction, bool weighted, bool masked) const {
    graph::Graph graph;
    graph::Builder b(graph);
    const ValueId truth = b.input("y", y_true.dtype(), y_true.shape());
    const ValueId pred = b.input("pred", DType::float64, y_pred.shape());
    const ValueId weight = b.input("weights", DType::float64, weights.shape());
    const ValueId counts = b.input("mask", DType::boolean, mask.shape());
    const keras::Document document("loss", config);
    const keras::LossPtr loss = keras::read_loss(keras::Ref(document), y_pred.shape(), y_true.shape());
    keras::LossCall call(b, loss->labels() == Labels::classes ? truth : b.cast(truth, DType::float64), pred);
    ValueId out = loss->values(call);
    std::optional<ValueId> seen = call.mask;
    if (masked) seen = seen ? b.binary(graph::BinaryFn::logical_and, *seen, counts) : counts;
    out = keras::reduced(b, out, weighted ? std::optional(weight) : std::nullopt, seen, reduction);
    const std::vector<Tensor> inputs{y_true, y_pred, weights, mask};
    if (graph.value(out).shape.rank() > 0) return {evaluate(graph, inputs, {out})[0], {}};
    const auto backward = gradients::differentiate(graph, out, std::vector{pred});
    const auto results = evaluate(backward.graph, inputs, {out, backward.gradients[0]});
    return {results[0], results[1]};
  }
};

}  // namespace

TEST_CASE("losses: values and gradients equal Keras's, with every reduction, weights and masks") {
  const Arrays arrays = read_arrays();
  std::ifstream file(in_repository("tests/data/training/losses.json"));
  int compared = 0;
  for (const Json& row : Json::parse(file)) {
    const std::string data = row["data"];
    const int number = row["number"];
    const Tensor& truth = arrays.at(data + ":y_true");
    LossCase one;
    one.config = row["loss"];
    const std::string loss = one.config["class_name"];
    if (loss == "Huber" && number == 5) one.config["config"]["delta"] = 0.4;  // Keras does not write it
    one.y_true = truth;
    if (loss == "SparseCategoricalCrossentropy") one.y_true = truth.cast(DType::int32);
    one.y_pred = arrays.at(data + ":y_pred").cast(DType::float64);
    one.weights = arrays.at("sample_weight").cast(DType::float64);
    one.mask = arrays.at("mask");
    for (const std::string reduction : {"sum_over_batch_size", "sum", "mean_with_sample_weight", "none"}) {
      for (const bool weighted : {false, true}) {
        for (const bool masked : {false, true}) {
          const std::string key =
              fmt::format("{}:{}{}{}", number, reduction, weighted ? ":weights" : "", masked ? ":mask" : "");
          const auto expected = arrays.find(key);
          if (expected == arrays.end()) continue;
          CAPTURE(loss);
          CAPTURE(key);
          const LossCase::Result got = one.run(reduction, weighted, masked);
          // The file holds float32.
          CHECK(largest_difference(expected->second, got.value) < 1e-6);
          if (const auto gradient = arrays.find(key + ":gradient"); gradient != arrays.end())
            CHECK(largest_difference(gradient->second, got.gradient) < 1e-6);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 400);
}

TEST_CASE("losses: a name refers to a class or a function, and unknown names are reported") {
  const auto read = [](const Json& config, const Shape& predictions = {2, 3}, std::optional<Shape> targets = {}) {
    const keras::Document document("loss", config);
    return keras::read_loss(keras::Ref(document), predictions, targets)->name;
  };
  CHECK(read("mse") == "mean_squared_error");
  CHECK(read("MeanSquaredError") == "mean_squared_error");
  CHECK(read("crossentropy", {2, 1}) == "binary_crossentropy");
  CHECK(read("crossentropy", {2, 3}, Shape{2}) == "sparse_categorical_crossentropy");
  CHECK(read("ce", {2, 3}, Shape{2, 3}) == "categorical_crossentropy");
  CHECK_THROWS_WITH_AS(static_cast<void>(read("mean_square_error")),
                       "loss: the loss 'mean_square_error' is not known (did you mean 'mean_squared_error'?)", Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(read({{"class_name", "function"}, {"config", "my_loss"}})),
                       "loss: the loss is a custom function, 'my_loss', which no file contains; choose another loss",
                       Error);
}

TEST_CASE("losses: ctc has a limit of steps, because each adds operations") {
  const keras::Document document("loss", keras::Json("ctc"));
  const keras::LossPtr ctc = keras::read_loss(keras::Ref(document), {1, 4, 3}, {});
  for (const Dim steps : {Dim{0}, Dim{4097}}) {
    graph::Graph graph;
    graph::Builder b(graph);
    keras::LossCall call(b, b.input("y", DType::int32, {1, 2}), b.input("pred", DType::float32, {1, steps, 3}));
    CHECK_THROWS_WITH_AS(static_cast<void>(ctc->values(call)), doctest::Contains("1 to 4096 steps, got"), Error);
  }
}

TEST_CASE("losses: weights and masks of the wrong shape are rejected") {
  graph::Graph graph;
  graph::Builder b(graph);
  const ValueId values = b.input("values", DType::float32, {4, 4});
  const ValueId weights = b.input("weights", DType::float32, {4});
  CHECK_THROWS_WITH_AS(static_cast<void>(keras::reduced(b, values, weights, {}, "sum")),
                       "the sample weights (4,) do not match a loss of shape (4, 4)", Error);
}

}  // namespace attn::test
