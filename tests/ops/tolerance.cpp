#include "tolerance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "attn/backends/reference.h"
#include "attn/base/rng.h"
#include "attn/graph/einsum.h"
#include "attn/graph/graph.h"

namespace attn::test {
namespace {

using namespace attn::graph;

constexpr int kTrials = 4;

/// Unit roundoff and least normal number of a floating dtype.
struct Precision {
  double roundoff, least_normal;
};
Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return {std::ldexp(1.0, -53), std::ldexp(1.0, -1022)};
    case DType::float16:
      return {std::ldexp(1.0, -11), std::ldexp(1.0, -14)};
    case DType::bfloat16:
      return {std::ldexp(1.0, -8), std::ldexp(1.0, -126)};
    default:
      return {std::ldexp(1.0, -24), std::ldexp(1.0, -126)};
  }
}

bool is_exact_function(const Unary& op) {
  switch (op.fn) {
    case UnaryFn::relu:
      return op.a == 0.0;
    case UnaryFn::linear:
    case UnaryFn::hard_tanh:
    case UnaryFn::hard_shrink:
    case UnaryFn::threshold:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::square:
    case UnaryFn::reciprocal:
    case UnaryFn::sqrt:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::clip:
    case UnaryFn::float8_e4m3fn:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return true;
    default:
      return false;
  }
}

double size_of(const Shape& shape, const std::vector<int>& axes) {
  double size = 1.0;
  for (const int axis : axes) size *= static_cast<double>(shape[axis]);
  return size;
}

/// k: the number of roundings that an output element passes through.
double roundings(const Case& row) {
  const auto dim = [&](std::size_t input, int axis) { return static_cast<double>(row.inputs[input].shape[axis]); };
  const auto elements = [&](std::size_t input) { return static_cast<double>(row.inputs[input].shape.size()); };
  return std::visit(
      Overloaded{
          [&](const Linear& op) {
            double depth = 1.0;
            for (int axis = 0; axis < op.contracted; ++axis) depth *= dim(1, axis);
            return depth;
          },
          [&](const QuantizedLinear& op) {
            double depth = 1.0;
            for (int axis = 1; axis <= op.contracted; ++axis) depth *= dim(0, -axis);
            return depth;
          },
          [&](const MatMul& op) { return dim(0, op.transpose_x ? -2 : -1); },
          [&](const Einsum& op) {
            const EinsumEquation equation = parse_einsum(op.equation);
            std::map<char, double> summed;
            for (std::size_t i = 0; i < row.inputs.size(); ++i) {
              for (std::size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
                const char letter = equation.inputs[i][axis];
                if (equation.output.find(letter) == std::string::npos) summed[letter] = dim(i, static_cast<int>(axis));
              }
            }
            double terms = 1.0;
            for (const auto& [letter, size] : summed) terms *= size;
            return terms;
          },
          [&](const Softmax& op) { return size_of(row.inputs[0].shape, op.axes); },
          // H for the scores, S for the context.
          [&](const Attention& op) {
            const double keys = op.varlen > 0 ? static_cast<double>(op.varlen) : dim(op.packed_heads > 0 ? 0 : 1, 1);
            return dim(0, 3) + keys;
          },
          [&](const CachedAttention&) { return dim(0, 3) + static_cast<double>(row.inputs[3].count); },
          [&](const LayerNorm& op) { return size_of(row.inputs[0].shape, op.axes); },
          [&](const Reduce& op) { return size_of(row.inputs[0].shape, op.axes); },
          [&](const Cumulate& op) { return dim(0, op.axis); },
          [&](const Conv&) {
            const Shape& kernel = row.inputs[1].shape;
            return static_cast<double>(kernel.slice(0, kernel.rank() - 1).size());
          },
          [&](const Pool& op) {
            double cells = 1.0;
            for (const std::int64_t size : op.window) cells *= static_cast<double>(size);
            return cells;
          },
          [&](const Rnn&) { return dim(0, 1) * (dim(0, 2) + dim(2, 0)); },  // T steps over D inputs and U units
          [&](const DeltaRule&) { return dim(0, 1) * dim(0, 3); },          // T steps over K keys
          // A gradient has the roundings of the operation itself, and is summed over all uses of a value.
          [&](const AttentionGrad&) { return dim(0, 3) + dim(2, 3) + dim(0, 1) * dim(0, 2) + dim(1, 1); },
          [&](const LayerNormGrad&) { return elements(0); },
          [&](const BatchNormTraining&) { return elements(0); },
          [&](const BatchNormGrad&) { return elements(0); },
          [&](const ScatterAdd& op) { return elements(0) / std::max(1.0, static_cast<double>(op.size)); },
          [&](const ConvInputGrad&) { return elements(0); },
          [&](const ConvKernelGrad&) { return elements(1); },
          [&](const PoolGrad& op) {
            double cells = 1.0;
            for (const std::int64_t window : op.forward.window) cells *= static_cast<double>(window);
            return cells;
          },
          [&](const RnnGrad&) { return dim(0, 0) * dim(0, 1) * (dim(0, 2) + 4.0 * dim(2, 0)); },
          [&](const DeltaRuleGrad&) { return 3.0 * dim(0, 1) * (dim(0, 3) + dim(3, 3)); },
          [&](const SoftmaxCrossEntropy&) { return dim(0, -1); },
          [&](const SoftmaxCrossEntropyGrad&) { return dim(0, -1); },
          [&](const auto&) { return 1.0; },
      },
      row.op);
}

bool mixes_elements(const Op& op) {
  return !std::holds_alternative<Unary>(op) && !std::holds_alternative<Binary>(op) &&
         !std::holds_alternative<UnaryGrad>(op);
}

/// Every floating tensor in float64, with its elements perturbed by ±roundoff of their size if `stream` is given.
std::vector<Tensor> widened(const std::vector<Tensor>& inputs, RandomStream* stream) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    if (!is_floating(input.dtype())) {
      result.push_back(input);
      continue;
    }
    const double roundoff = precision_of(input.dtype()).roundoff;
    Tensor wide = input.cast(DType::float64);
    for (double& x : wide.as<double>()) {
      if (stream != nullptr) x *= 1.0 + (stream->uniform() < 0.5 ? roundoff : -roundoff);
    }
    result.push_back(std::move(wide));
  }
  return result;
}

/// The `intermediate` term of the elements [start, start + length).
double held_on_the_way(const Case& row, const std::vector<Tensor>& inputs, std::size_t start, std::size_t length) {
  const auto from = static_cast<std::int64_t>(start), to = static_cast<std::int64_t>(start + length);
  if (std::holds_alternative<Unary>(row.op)) {
    const double x = std::abs(inputs[0].at(from));
    return std::isnan(x) ? 0.0 : std::min(x, 4.0);
  }
  if (std::holds_alternative<Rnn>(row.op)) return 1.0;
  const auto* norm = std::get_if<LayerNorm>(&row.op);
  const bool over_last = norm != nullptr && norm->axes == std::vector<int>{inputs[0].shape().rank() - 1};
  if (!over_last || norm->kind == NormKind::rms) return 0.0;
  double sum = 0.0, squares = 0.0, largest = 0.0, gamma = norm->scale ? 0.0 : 1.0;
  for (std::int64_t i = from; i < to; ++i) {
    const double x = inputs[0].at(i);
    sum += x;
    squares += x * x;
    largest = std::max(largest, std::abs(x));
    if (norm->scale) gamma = std::max(gamma, std::abs(inputs[1].at(i - from)));
  }
  const auto n = static_cast<double>(length);
  const double variance = std::max(0.0, squares / n - sum / n * (sum / n));
  const double held = largest * gamma / std::sqrt(variance + norm->epsilon);
  return std::isfinite(held) ? held : 0.0;
}

}  // namespace

std::vector<Tensor> reference(const Op& op, const std::vector<Tensor>& inputs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back({input.dtype(), input.shape()});
  std::vector<Tensor> outputs;
  for (const TensorType& type : infer(op, types)) outputs.emplace_back(type.dtype, type.shape);
  backends::evaluate({op, {}, {}, kNone}, {}, inputs, outputs);
  return outputs;
}

bool is_exact(const Case& row) {
  const bool floats = std::any_of(row.inputs.begin(), row.inputs.end(),
                                  [](const Operand& operand) { return is_floating(operand.dtype); });
  if (!floats) return true;
  return std::visit(Overloaded{
                        [](const Unary& op) { return is_exact_function(op); },
                        [](const Binary& op) { return op.fn != BinaryFn::power && op.fn != BinaryFn::atan2; },
                        [](const Reduce& op) {
                          return op.fn == ReduceFn::max || op.fn == ReduceFn::min || op.fn == ReduceFn::argmax ||
                                 op.fn == ReduceFn::argmin || op.axes.empty();
                        },
                        [](const Pool& op) { return !op.average; },
                        [](const Linear&) { return false; },
                        // A sum of integers is exact, and the order of the roundings after it is defined.
                        [](const QuantizedLinear& op) {
                          return op.inputs && !op.grouped && !op.rounded && op.pairs == Pairs::none &&
                                 op.activation.fn == UnaryFn::linear;
                        },
                        [](const MatMul&) { return false; },
                        [](const Einsum&) { return false; },
                        [](const Softmax&) { return false; },
                        [](const Attention&) { return false; },
                        [](const CachedAttention&) { return false; },
                        [](const LayerNorm&) { return false; },
                        [](const BatchNorm&) { return false; },
                        [](const Cumulate&) { return false; },
                        [](const Conv&) { return false; },
                        [](const Rnn&) { return false; },
                        [](const UnaryGrad&) { return false; },
                        [](const AttentionGrad&) { return false; },
                        [](const LayerNormGrad&) { return false; },
                        [](const BatchNormTraining&) { return false; },
                        [](const BatchNormGrad&) { return false; },
                        [](const ScatterAdd&) { return false; },
                        [](const ConvInputGrad&) { return false; },
                        [](const ConvKernelGrad&) { return false; },
                        [](const PoolGrad&) { return false; },
                        [](const RnnGrad&) { return false; },
                        [](const DeltaRule&) { return false; },
                        [](const DeltaRuleGrad&) { return false; },
                        [](const SoftmaxCrossEntropy&) { return false; },
                        [](const SoftmaxCrossEntropyGrad&) { return false; },
                        [](const auto&) { return true; },
                    },
                    row.op);
}

std::vector<std::vector<double>> tolerances(const Case& row, const std::vector<Tensor>& inputs,
                                            const std::vector<Tensor>& expected) {
  std::vector<std::vector<double>> result;
  for (const Tensor& output : expected) result.emplace_back(static_cast<std::size_t>(output.size()), 0.0);
  if (is_exact(row)) return result;

  // Δ of every element
  const std::vector<Tensor> exact = reference(row.op, widened(inputs, nullptr));
  RandomStream stream(1, row.name);
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<Tensor> moved = reference(row.op, widened(inputs, &stream));
    for (std::size_t o = 0; o < exact.size(); ++o) {
      for (std::size_t i = 0; i < result[o].size(); ++i) {
        const double change = std::abs(moved[o].as<double>()[i] - exact[o].as<double>()[i]);
        if (std::isfinite(change)) result[o][i] = std::max(result[o][i], change);
      }
    }
  }

  const double growth = std::sqrt(std::max(1.0, roundings(row)));
  for (std::size_t o = 0; o < exact.size(); ++o) {
    const auto [roundoff, least_normal] = precision_of(expected[o].dtype());
    const std::size_t length = mixes_elements(row.op) && expected[o].shape().rank() > 0
                                   ? static_cast<std::size_t>(expected[o].shape().back())
                                   : 1;
    for (std::size_t start = 0; start < result[o].size(); start += length) {
      double change = 0.0, largest = 0.0;
      for (std::size_t i = start; i < start + length; ++i) {
        const double y = std::abs(exact[o].as<double>()[i]);
        if (std::isfinite(y)) largest = std::max(largest, y);
        change = std::max(change, result[o][i]);
      }
      const double intermediate = held_on_the_way(row, inputs, start, length);
      const double allowed = 4.0 * growth * change + 4.0 * roundoff * (largest + intermediate) + least_normal;
      std::fill_n(result[o].begin() + static_cast<std::ptrdiff_t>(start), length, allowed);
    }
  }
  return result;
}

}  // namespace attn::test
