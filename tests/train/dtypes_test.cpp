// Optimizer steps on variables of every floating dtype, compared with Keras (tests/data/training/optimizers.npz).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "../largest.h"
#include "../places.h"
#include "attn/base/error.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/optimizer.h"
#include "attn/optimizers/optimizer.h"

namespace attn::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kSteps = 10, kVariables = 3;

struct Steps {
  std::map<std::string, Tensor> arrays;
  json optimizers;

  Steps() {
    for (const NamedTensor& array : io::read_tensors(in_repository("tests/data/training/optimizers.npz")))
      arrays.emplace(array.name, array.tensor);
    std::ifstream(in_repository("tests/data/training/optimizers.json")) >> optimizers;
  }
  [[nodiscard]] Tensor start(std::int64_t n, DType dtype) const {
    return arrays.at(fmt::format("start:{}", n)).cast(dtype);
  }
  [[nodiscard]] Tensor gradient(std::int64_t n, std::int64_t step, DType dtype) const {
    const Tensor& all = arrays.at(fmt::format("gradient:{}", n));
    const Tensor out(dtype, all.shape().slice(1, all.shape().rank()));
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, all.at(step * out.size() + i));
    return out;
  }
};

/// Relative to the largest number of an array: a few roundings of its dtype. Keras stores learning rates and Nadam's
/// product in float32, for float64 too.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e-7;
    case DType::float32:
      return 2e-6;
    case DType::float16:
      return 4.0 * std::ldexp(1.0, -11);
    default:
      return 4.0 * std::ldexp(1.0, -8);
  }
}

void check_near(const Tensor& got, const Tensor& expected, DType dtype, const std::string& what) {
  REQUIRE(got.size() == expected.size());
  const double most = tolerance(dtype) * std::max(1e-3, largest(expected));
  double worst = 0.0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double differs = std::abs(got.at(i) - expected.at(i));
    const bool both_nan = std::isnan(got.at(i)) && std::isnan(expected.at(i));
    if (!both_nan && !(got.at(i) == expected.at(i))) worst = std::max(worst, std::isnan(differs) ? 1e300 : differs);
  }
  CHECK_MESSAGE(worst <= most, fmt::format("{}: {} > {}", what, worst, most));
}

}  // namespace

TEST_CASE("optimizers: ten steps in float64, float32, float16 and bfloat16 equal Keras's") {
  const Steps steps;
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    for (const auto& [name, config] : steps.optimizers.items()) {
      const std::string place = fmt::format("{}/{}", name_of(dtype), name);
      if (!steps.arrays.contains(place + "/variable:0")) continue;  // not supported by Keras
      std::vector<optimizers::Variable> variables;
      std::vector<Tensor> weights;
      for (std::int64_t n = 0; n < kVariables; ++n) {
        weights.push_back(steps.start(n, dtype));
        variables.push_back({fmt::format("v{}", n), weights.back().shape(), {}, dtype});
      }
      optimizers::Optimizer optimizer(keras::read_optimizer(config.dump()), variables, 1);
      optimizer.begin(weights);
      for (std::int64_t step = 0; step < kSteps; ++step) {
        std::vector<optimizers::Gradient> gradients;
        for (std::int64_t n = 0; n < kVariables; ++n) gradients.push_back({steps.gradient(n, step, dtype)});
        optimizer.apply(weights, gradients);
      }
      for (std::int64_t n = 0; n < kVariables; ++n)
        check_near(weights[static_cast<std::size_t>(n)], steps.arrays.at(fmt::format("{}/variable:{}", place, n)),
                   dtype, fmt::format("{} variable {}", place, n));
      for (std::size_t n = 0; n < optimizer.state().size(); ++n)
        check_near(optimizer.state()[n].tensor, steps.arrays.at(fmt::format("{}/state:{}", place, n)), dtype,
                   fmt::format("{} {}", place, optimizer.state()[n].name));
    }
  }
}

TEST_CASE("optimizers: arrays of another dtype or shape than the variable's are rejected") {
  optimizers::Optimizer optimizer({}, {{"a", {3}, {}, DType::bfloat16}}, 1);
  const Tensor right(DType::bfloat16, {3}), wide(DType::float32, {3}), longer(DType::bfloat16, {4});
  optimizer.begin({right});
  for (const Tensor& wrong : {wide, longer}) {
    CHECK_THROWS_AS(optimizer.begin({wrong}), Error);
    CHECK_THROWS_AS(optimizer.apply({wrong}, {{right}}), Error);
    CHECK_THROWS_AS(optimizer.apply({right}, {{wrong}}), Error);
  }
}

}  // namespace attn::test
