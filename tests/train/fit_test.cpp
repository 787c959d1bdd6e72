// The position of a training if the end of an epoch fails.
#include "attn/train/fit.h"

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attn/backends/cpu.h"
#include "attn/keras/model.h"
#include "attn/keras/optimizer.h"

namespace attn::test {
namespace {

constexpr const char* kDense = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
  {"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "x"}},
  {"class_name": "Dense", "config": {"units": 1, "name": "y", "use_bias": false}}]}})";
constexpr std::int64_t kRows = 5;

Tensor of_values(const Shape& shape, const std::vector<double>& values) {
  Tensor out(DType::float32, shape);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

}  // namespace

TEST_CASE("fit: an epoch whose end fails is not complete, and only its end is repeated, with the same values") {
  const keras::Model model = keras::Model::read("dense.json", kDense);
  const auto lower = [&](const train::Batch& batch, bool training) {
    keras::LowerOptions options;
    options.batch = batch.begin()->second.shape()[0];
    keras::LossOptions how;
    how.loss = "mse";
    how.training = training;
    return model.lower_loss(options, how);
  };
  const keras::LossGraph lowered = lower({{"x", Tensor(DType::float32, Shape{2, 2})}}, true);
  std::map<std::string, Tensor> arrays;
  for (const graph::ValueId id : lowered.graph.inputs) {
    const graph::Value& value = lowered.graph.value(id);
    const Dim width = value.shape[value.shape.rank() - 1];
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < kRows * width; ++i) numbers.push_back(0.25 * static_cast<double>(i));
    arrays.emplace(value.name, of_values(Shape{kRows, width}, numbers));
  }
  const auto backend = backends::make_cpu_backend();
  train::Trainer trainer(*backend, lower, lowered.graph.weights, {of_values(Shape{2, 1}, {0.5, -0.25})},
                         keras::compiled_optimizer(R"({"optimizer": "sgd", "loss": "mse"})"), {});

  train::FitOptions options;
  options.epochs = 2;
  options.batch_size = 2;
  train::Position position;
  std::int64_t steps = 0;
  std::vector<double> losses;
  bool fails = true;
  train::FitEvents events;
  events.step = [&](const train::StepEvent&) { ++steps; };
  events.judge = [&](const train::EpochEvent& event) {
    losses.push_back(event.values.at("loss").total.at(0));
    if (std::exchange(fails, false)) throw std::runtime_error("no memory");
    return true;
  };
  std::vector<std::int64_t> done;
  events.epoch = [&](const train::EpochEvent& event) { done.push_back(event.epoch); };

  const train::Data rows(arrays);
  CHECK_THROWS(train::fit(trainer, rows, nullptr, options, position, events));
  CHECK(position.epoch == 0);
  CHECK(position.batch == 3);
  CHECK(done.empty());
  CHECK(train::fit(trainer, rows, nullptr, options, position, events) == train::FitEnd::epochs);
  CHECK(steps == 6);
  REQUIRE(losses.size() == 3);
  CHECK(losses[0] == losses[1]);
  CHECK(losses[2] != losses[1]);
  CHECK(done == std::vector<std::int64_t>{1, 2});
  CHECK(position.epoch == 2);
}

}  // namespace attn::test
