// Runs one operation on small tensors, for tests that spell out the expected numbers.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::test {

inline Tensor tensor(Shape shape, const std::vector<double>& numbers, DType dtype = DType::float64) {
  Tensor result(dtype, std::move(shape));
  if (result.size() != static_cast<std::int64_t>(numbers.size())) throw internal_error("a test gives too few numbers");
  for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, numbers[static_cast<std::size_t>(i)]);
  return result;
}

/// sin(0.7·i + phase): numbers of both signs that one line of Python can reproduce.
inline Tensor wave(Shape shape, double phase, DType dtype = DType::float64) {
  Tensor result(dtype, std::move(shape));
  for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, std::sin(0.7 * static_cast<double>(i) + phase));
  return result;
}

inline std::vector<double> numbers(const Tensor& x) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < x.size(); ++i) result.push_back(x.at(i));
  return result;
}

/// All outputs of one operation.
inline std::vector<Tensor> evaluate(graph::Op op, const std::vector<Tensor>& inputs) {
  std::vector<graph::TensorType> types;
  for (const Tensor& input : inputs) types.push_back({input.dtype(), input.shape()});
  std::vector<Tensor> outputs;
  for (const graph::TensorType& type : graph::infer(op, types)) outputs.emplace_back(type.dtype, type.shape);
  const graph::Node node{std::move(op), {}, {}, graph::kNone};
  backends::evaluate(node, {}, inputs, outputs);
  return outputs;
}

/// The numbers of the first output.
inline std::vector<double> result(graph::Op op, const std::vector<Tensor>& inputs) {
  return numbers(evaluate(std::move(op), inputs).front());
}

/// Checks equality up to `tolerance`; NaN equals only NaN. The expected numbers have 12 digits.
inline void check_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-10) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CAPTURE(got[i]);
    CAPTURE(expected[i]);
    const bool same = std::isnan(expected[i])   ? std::isnan(got[i])
                      : std::isinf(expected[i]) ? got[i] == expected[i]
                                                : std::abs(got[i] - expected[i]) <= tolerance;
    CHECK(same);
  }
}

}  // namespace attn::test
