#include "attn/weights/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/nibbles.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"

namespace attn::weights {
namespace {

using graph::QuantizedPart;
using graph::WeightSpec;

constexpr double kEpsilon = 1e-7;

/// Rounds to a dtype in which NumPy computes.
class Rounding {
 public:
  explicit Rounding(DType dtype) : cell_(dtype, Shape{1}) {}
  double operator()(double number) const {
    if (cell_.dtype() == DType::float64) return number;
    if (cell_.dtype() == DType::float32) return static_cast<float>(number);
    cell_.set(0, number);
    return cell_.at(0);
  }

 private:
  Tensor cell_;
};

/// NumPy has no bfloat16 of its own, and converts it to float32 in an operation with a Python number.
DType with_python_number(DType dtype) { return dtype == DType::bfloat16 ? DType::float32 : dtype; }

/// A float weight as columns that share a scale, in the order of the scales: element (column, k) is at starts[column] +
/// along[k].
struct Rows {
  std::vector<std::int64_t> starts, along;
};

Rows rows_of(const QuantizedPart& part) {
  const Shape& shape = part.shape;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis)
    strides[static_cast<std::size_t>(axis)] = strides[static_cast<std::size_t>(axis) + 1] * shape[axis + 1];
  std::vector<int> others = part.order;
  if (others.empty())
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (std::ranges::find(part.axes, axis) == part.axes.end()) others.push_back(axis);
  const auto offsets = [&](const std::vector<int>& axes) {
    std::vector<std::int64_t> out{0};
    for (const int axis : axes) {
      std::vector<std::int64_t> next;
      for (const std::int64_t offset : out)
        for (Dim i = 0; i < shape[axis]; ++i) next.push_back(offset + i * strides[static_cast<std::size_t>(axis)]);
      out = std::move(next);
    }
    return out;
  };
  return {offsets(others), offsets(part.axes)};
}

/// The result of quantizing one float weight.
struct Quantized {
  Tensor integers;                  // int8, with QuantizedPart::shape
  std::vector<double> scale, zero;  // indexed by group and column
  std::int64_t groups = 1, columns = 0;
};

Quantized symmetric(const QuantizedPart& part, const Tensor& floats) {
  const Rows rows = rows_of(part);
  const Rounding round(with_python_number(floats.dtype()));
  const double high = part.bits == 8 ? 127.0 : 7.0, low = part.bits == 8 ? -127.0 : -8.0;
  Quantized out;
  out.columns = static_cast<std::int64_t>(rows.starts.size());
  out.integers = Tensor(DType::int8, part.shape);
  for (const std::int64_t start : rows.starts) {
    throw_if_stopped();
    double largest = 0.0;
    for (const std::int64_t offset : rows.along)
      if (const double magnitude = std::abs(floats.at(start + offset)); magnitude > largest) largest = magnitude;
    const double scale = round(high / round(largest + round(kEpsilon)));
    out.scale.push_back(scale);
    for (const std::int64_t offset : rows.along)
      out.integers.set(start + offset, std::clamp(std::nearbyint(round(floats.at(start + offset) * scale)), low, high));
  }
  return out;
}

/// Has a zero point for each group of rows; missing rows of the last group count as 0.
Quantized grouped(const QuantizedPart& part, const Tensor& floats) {
  constexpr double kLow = -8.0, kHigh = 7.0;
  const Rows rows = rows_of(part);
  const Rounding own(floats.dtype()), round(with_python_number(floats.dtype()));
  const auto depth = static_cast<std::int64_t>(rows.along.size());
  Quantized out;
  out.columns = static_cast<std::int64_t>(rows.starts.size());
  out.groups = (depth + part.group - 1) / part.group;
  out.integers = Tensor(DType::int8, part.shape);
  for (std::int64_t group = 0; group < out.groups; ++group) {
    throw_if_stopped();
    const std::int64_t begin = group * part.group, end = std::min(depth, begin + part.group);
    for (const std::int64_t start : rows.starts) {
      const auto number = [&](std::int64_t k) { return floats.at(start + rows.along[static_cast<std::size_t>(k)]); };
      const bool is_short = end - begin < part.group;
      double least = is_short ? 0.0 : std::numeric_limits<double>::infinity(), most = is_short ? 0.0 : -least;
      for (std::int64_t k = begin; k < end; ++k) {
        least = std::min(least, number(k));
        most = std::max(most, number(k));
      }
      const double scale = round(round(own(most - least) + round(kEpsilon)) / (kHigh - kLow));
      const double zero = std::clamp(round(std::nearbyint(round(-least / scale)) + kLow), kLow, kHigh);
      out.scale.push_back(scale);
      out.zero.push_back(zero);
      for (std::int64_t k = begin; k < end; ++k)
        out.integers.set(start + rows.along[static_cast<std::size_t>(k)],
                         std::clamp(round(std::nearbyint(round(number(k) / scale)) + zero), kLow, kHigh));
    }
  }
  return out;
}

Tensor integers_of(const WeightSpec& spec, const QuantizedPart& part, const Quantized& from) {
  if (part.packed < 0) {
    const Tensor own = from.integers.reshaped(spec.shape);
    return spec.dtype == DType::int8 ? own : own.cast(spec.dtype);
  }
  Tensor out(spec.dtype, spec.shape);
  const std::span<const std::int8_t> integers = from.integers.as<std::int8_t>();
  const Dim size = part.shape[part.packed], bytes = spec.shape[part.packed];
  const std::int64_t behind = part.shape.slice(part.packed + 1, part.shape.rank()).size();
  auto* const to = reinterpret_cast<std::uint8_t*>(out.data());
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t before = i / (bytes * behind), byte = i / behind % bytes, last = i % behind;
    const auto integer = [&](Dim k) {
      return k < size ? int{integers[static_cast<std::size_t>((before * size + k) * behind + last)]} : 0;
    };
    to[i] = byte_of_nibbles(integer(2 * byte), integer(2 * byte + 1));
  }
  return out;
}

/// Stores scales and zero points by group and column, or by column and group if the summed axis is the last.
Tensor by_group(const WeightSpec& spec, const QuantizedPart& part, const Quantized& from,
                const std::vector<double>& numbers) {
  Tensor out(spec.dtype, spec.shape);
  const bool groups_last = part.group > 0 && part.axes.front() != 0;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t at = groups_last ? i % from.groups * from.columns + i / from.groups : i;
    out.set(i, numbers[static_cast<std::size_t>(at)]);
  }
  return out;
}

Tensor part_of(const WeightSpec& spec, const Quantized& from) {
  const QuantizedPart& part = *spec.quantized;
  switch (part.kind) {
    case QuantizedPart::Kind::integers:
      return integers_of(spec, part, from);
    case QuantizedPart::Kind::scale:
      return by_group(spec, part, from, from.scale);
    case QuantizedPart::Kind::zero:
      return by_group(spec, part, from, from.zero);
    case QuantizedPart::Kind::groups:
      break;
  }
  Tensor out(spec.dtype, spec.shape);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t group = i / part.group;
    out.set(i, static_cast<double>(group));
  }
  return out;
}

/// Throws Error (bad_input) for NaN or infinity, which would make the scale of its whole column useless.
void expect_finite(const WeightSpec& spec, const Tensor& floats) {
  for (std::int64_t i = 0; i < floats.size(); ++i)
    if (!std::isfinite(floats.at(i)))
      throw bad_input("the weight '{}' cannot be quantized: its element {} is {}", printable(spec.path), i,
                      floats.at(i));
}

/// Returns the path of the float weight from which the weight is computed.
std::string source_of(const WeightSpec& spec) {
  const auto slash = spec.path.rfind('/');
  return (slash == std::string::npos ? "" : spec.path.substr(0, slash + 1)) + spec.quantized->of;
}

/// Returns the float weight that each quantized weight is computed from.
std::vector<std::size_t> sources_of(std::span<const WeightSpec> quantized, std::span<const WeightSpec> floats) {
  const auto place_of = [](const WeightSpec& spec) {
    return spec.store_path.substr(0, spec.store_path.rfind('/') + 1);
  };
  // Layers may share a path, but not a store path.
  std::map<std::pair<std::string, std::string>, std::size_t> by_path;
  for (std::size_t i = 0; i < floats.size(); ++i) by_path.emplace(std::pair(place_of(floats[i]), floats[i].path), i);
  std::vector<std::size_t> out;
  for (const WeightSpec& spec : quantized) {
    const std::string source = spec.quantized ? source_of(spec) : spec.path;
    const auto found = by_path.find({place_of(spec), source});
    if (found == by_path.end())
      throw bad_input("the weight '{}' has no float weight '{}' to quantize", printable(spec.path), printable(source));
    out.push_back(found->second);
  }
  return out;
}

/// A float weight, kept until its last part is computed.
struct FloatWeight {
  Tensor floats;
  std::optional<Quantized> made;
};

}  // namespace

std::vector<Tensor> quantize(std::span<const WeightSpec> quantized, std::span<const WeightSpec> floats,
                             const std::function<Tensor(std::size_t)>& number) {
  const std::vector<std::size_t> sources = sources_of(quantized, floats);
  std::vector<std::int64_t> uses(floats.size());
  for (const std::size_t source : sources) ++uses[source];
  std::map<std::size_t, FloatWeight> held;
  std::vector<Tensor> out;
  out.reserve(quantized.size());
  for (std::size_t i = 0; i < quantized.size(); ++i) {
    const WeightSpec& spec = quantized[i];
    const auto [at, is_new] = held.try_emplace(sources[i]);
    FloatWeight& source = at->second;
    if (is_new) source.floats = number(sources[i]);
    if (spec.quantized && !source.made) {
      expect_finite(floats[sources[i]], source.floats);
      const Tensor rows = source.floats.reshaped(spec.quantized->shape);
      source.made = spec.quantized->group > 0 ? grouped(*spec.quantized, rows) : symmetric(*spec.quantized, rows);
    }
    out.push_back(spec.quantized ? part_of(spec, *source.made) : source.floats);
    if (--uses[sources[i]] == 0) held.erase(at);
  }
  return out;
}

}  // namespace attn::weights
