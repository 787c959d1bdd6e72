// Quantization to 8-bit and 4-bit integers. Values are rounded where Keras rounds them
// (keras/src/quantizers/quantizers.py).
#include <algorithm>
#include <cmath>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/nibbles.h"
#include "attn/base/stop.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Rounds to the numbers of a dtype.
struct Rounding {
  DType dtype;
  double operator()(double number) const { return rounded(dtype, number); }
};

/// Returns max(largest, magnitude); NaN if one of them is NaN.
double larger(double largest, double magnitude) {
  return magnitude <= largest || std::isnan(largest) ? largest : magnitude;
}

/// Returns high/(largest + ε), with the roundings of abs_max_quantize.
double scale_of(double largest, const graph::IntegerRange& range, const Rounding& round) {
  return round(round(range.high) / round(largest + round(range.epsilon)));
}

double integer_of(double x, double scale, const graph::IntegerRange& range, const Rounding& round) {
  // Integers within the range are exact in every dtype, so the rounded value needs no conversion.
  const double integer = std::nearbyint(round(x * scale));
  return std::isnan(integer) ? 0.0 : std::clamp(integer, range.low, range.high);
}

/// Returns the integers of a tensor; 4-bit ones are unpacked along `nibbles`.
std::vector<double> integers(const Tensor& q, const std::optional<graph::Nibbles>& nibbles) {
  if (!nibbles) return read<double>(q);
  const Shape& shape = q.shape();
  const std::int64_t before = shape.slice(0, nibbles->axis).size(), bytes = shape[nibbles->axis],
                     behind = shape.slice(nibbles->axis + 1, shape.rank()).size();
  const bool is_signed = q.dtype() == DType::int8;
  const auto* const data = reinterpret_cast<const std::uint8_t*>(q.data());
  std::vector<double> out(at(before * nibbles->size * behind));
  for (std::int64_t i = 0; i < before; ++i) {
    for (Dim k = 0; k < nibbles->size; ++k) {
      for (std::int64_t j = 0; j < behind; ++j)
        out[at((i * nibbles->size + k) * behind + j)] =
            nibble(data[(i * bytes + k / 2) * behind + j], k % 2 == 1, is_signed);
    }
  }
  return out;
}

/// Returns the group of each row. Throws Error (bad_input) for an invalid group.
std::vector<std::int64_t> groups_of(const Tensor& groups, Dim count) {
  auto out = read<std::int64_t>(groups);
  for (const std::int64_t group : out)
    if (group < 0 || group >= count) throw bad_input("group {} of a weight's rows is not below {}", group, count);
  return out;
}

/// The weight of a QuantizedLinear, (K, M). It has integers, or dequantized numbers if dequantization precedes the
/// product.
struct Weight {
  std::int64_t depth = 0, width = 0;
  std::vector<double> numbers;
};

Weight weight_of(const graph::QuantizedLinear& op, Tensors in) {
  Weight out;
  out.depth = in[0].shape().slice(in[0].shape().rank() - op.contracted, in[0].shape().rank()).size();
  out.width = op.units.size();
  std::optional<graph::Nibbles> nibbles;
  if (op.pairs != graph::Pairs::none) {
    const bool along_inputs = op.pairs == graph::Pairs::inputs;
    nibbles = graph::Nibbles{along_inputs == op.transposed ? 1 : 0, along_inputs ? out.depth : out.width};
  }
  std::vector<double> q = integers(in[1], nibbles);
  const auto place = [&](std::int64_t k, std::int64_t m) {
    return at(op.transposed ? m * out.depth + k : k * out.width + m);
  };
  const Rounding round{in[2].dtype()};
  out.numbers.resize(q.size());
  const auto scale = read<double>(in[2]);
  if (op.grouped) {
    const Dim count = in[2].shape()[op.transposed ? 1 : 0];
    const auto zero = read<double>(in[3]);
    const auto groups = groups_of(in[4], count);
    for (std::int64_t k = 0; k < out.depth; ++k) {
      for (std::int64_t m = 0; m < out.width; ++m) {
        const std::size_t of = at(op.transposed ? m * count + groups[at(k)] : groups[at(k)] * out.width + m);
        out.numbers[at(k * out.width + m)] = round(round(q[place(k, m)] - zero[of]) * scale[of]);
      }
    }
    return out;
  }
  for (std::int64_t k = 0; k < out.depth; ++k) {
    for (std::int64_t m = 0; m < out.width; ++m) {
      const double integer = q[place(k, m)];
      out.numbers[at(k * out.width + m)] = op.rounded ? round(integer / scale[at(m)]) : integer;
    }
  }
  return out;
}

/// sums (M) += x (K) · w.
void add_products(const double* x, const Weight& w, double* sums) {
  for (std::int64_t k = 0; k < w.depth; ++k) {
    const double* const row = w.numbers.data() + k * w.width;
    for (std::int64_t m = 0; m < w.width; ++m) sums[m] += x[k] * row[m];
  }
}

}  // namespace

void compute(const graph::Quantize& op, Tensors in, Tensors out) {
  const auto x = read<double>(in[0]);
  const Slices along = slices(in[0].shape(), op.axes);
  const Rounding round{in[0].dtype()};
  std::vector<double> q(x.size()), scales;
  for (const std::int64_t start : along.starts) {
    double largest = 0.0;
    for (const std::int64_t offset : along.along) largest = larger(largest, std::abs(x[at(start + offset)]));
    const double scale = scale_of(largest, op.range, round);
    scales.push_back(scale);
    for (const std::int64_t offset : along.along)
      q[at(start + offset)] = integer_of(x[at(start + offset)], scale, op.range, round);
  }
  write(out[0], q);
  write(out[1], scales);
}

void compute(const graph::Dequantize& op, Tensors in, Tensors out) {
  const auto q = integers(in[0], op.nibbles);
  const auto scale = read<double>(in[1]);
  const Shape& shape = out[0].shape();
  std::vector<double> y(q.size());
  if (!op.group_axis) {
    const Offsets places = broadcast_offsets(in[1].shape(), shape);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = q[i] / scale[at(places[i])];
    return write(out[0], y);
  }
  const int axis = *op.group_axis;
  const Dim count = in[1].shape()[axis], rows = shape[axis];
  const auto zero = read<double>(in[2]);
  const auto groups = groups_of(in[3], count);
  const Rounding round{in[1].dtype()};
  const std::int64_t behind = shape.slice(axis + 1, shape.rank()).size();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
    const std::int64_t outer = i / (rows * behind), row = i / behind % rows;
    const std::size_t of = at((outer * count + groups[at(row)]) * behind + i % behind);
    y[at(i)] = round(q[at(i)] - zero[of]) * scale[of];
  }
  write(out[0], y);
}

void compute(const graph::QuantizedLinear& op, Tensors in, Tensors out) {
  const Weight w = weight_of(op, in);
  const auto x = read<double>(in[0]);
  const auto scale = read<double>(in[2]);
  const bool scales_after = !op.grouped && !op.rounded;
  std::size_t next = op.grouped ? 5 : 3;
  const auto bias = op.bias ? read<double>(in[next++]) : std::vector<double>();
  const auto residual = op.residual ? read<double>(in[next]) : std::vector<double>();
  const Rounding round_x{in[0].dtype()}, round_y{out[0].dtype()};
  const std::int64_t rows =
      w.depth == 0 ? out[0].size() / std::max<std::int64_t>(w.width, 1) : static_cast<std::int64_t>(x.size()) / w.depth;
  std::vector<double> y(at(rows * w.width)), q(at(w.depth));
  for (std::int64_t row = 0; row < rows; ++row) {
    throw_if_stopped();
    const double* const from = x.data() + row * w.depth;
    double* const sums = y.data() + row * w.width;
    double scale_x = 1.0;
    if (op.inputs) {
      double largest = 0.0;
      for (std::int64_t k = 0; k < w.depth; ++k) largest = larger(largest, std::abs(from[k]));
      scale_x = scale_of(largest, *op.inputs, round_x);
      for (std::int64_t k = 0; k < w.depth; ++k) q[at(k)] = integer_of(from[k], scale_x, *op.inputs, round_x);
    }
    add_products(op.inputs ? q.data() : from, w, sums);
    for (std::int64_t m = 0; m < w.width; ++m) {
      double& sum = sums[m];
      if (op.inputs) {
        const double both = scales_after ? round_y(scale[at(m)] * scale_x) : scale_x;
        sum = round_y(round_x(sum) / both);
        if (op.bias) sum = round_y(sum + bias[at(m)]);
      } else {
        if (scales_after) sum /= scale[at(m)];
        if (op.bias) sum += bias[at(m)];
      }
      if (op.activation.fn != graph::UnaryFn::linear) sum = apply(op.activation, sum);
    }
  }
  if (op.residual)
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += residual[i];
  write(out[0], y);
}

}  // namespace attn::backends::reference
