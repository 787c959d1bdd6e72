#include "classes/layers/attention/rotary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "classes/decoding.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/rounding.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Computes a value once for all layers with equal parameters.
template <typename Make>
Angles shared_angles(Call& call, const Rotary& rotary, const std::string& place, Make make) {
  const std::string name = fmt::format("angles {} {} {} {} {}", attn::name_of(call.compute_dtype()), place,
                                       rotary.factor, rotary.temperature, fmt::join(rotary.frequencies, " "));
  const std::vector<ValueId>& values = call.lowering().common(name, make);
  return {values[0], values[1]};
}

/// Returns (−x₂, x₁) for the halves x₁, x₂ of the last axis.
Expression rotate_half(const Expression& x) {
  const Dim width = x.shape().back();
  const auto half = [&](std::int64_t from) {
    graph::Slice slice;
    slice.ranges.resize(static_cast<std::size_t>(x.shape().rank()));
    slice.ranges.back() = {from, from + width / 2, 1};
    return Expression(*x.builder, x.builder->apply(slice, {x}));
  };
  return {*x.builder, x.builder->apply(graph::Concat{x.shape().rank() - 1}, {-half(width / 2), half(0)})};
}

/// 0 for pairs that keep their angle, up to 1 for those whose angle is divided.
float ramp(const Yarn& yarn, double wavelength, float pair, float width) {
  const auto pair_that_turns = [&](double times) {
    const float turns = static_cast<float>(times) * 2.0F * std::numbers::pi_v<float>;
    return width * std::log(static_cast<float>(yarn.original_length) / turns) /
           (2.0F * std::log(static_cast<float>(wavelength)));
  };
  float low = pair_that_turns(yarn.beta_fast), high = pair_that_turns(yarn.beta_slow);
  if (yarn.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0F);
  high = std::min(high, width - 1.0F);
  return std::clamp((pair - low) / std::max(high - low, 0.001F), 0.0F, 1.0F);
}

}  // namespace

void check_turning(Dim width) {
  constexpr Dim kMost = 1 << 16;
  if (width > kMost) throw bad_input("{} rotary features are not accepted: a head may have up to {}", width, kMost);
}

std::vector<float> inverse_frequencies(double wavelength, Dim width, double scaling) {
  check_turning(width);
  const auto base = static_cast<float>(wavelength), divisor = static_cast<float>(scaling);
  std::vector<float> out;
  for (Dim i = 0; i < width; i += 2)
    out.push_back(std::pow(base, -static_cast<float>(i) / static_cast<float>(width)) / divisor);
  return out;
}

Rotary yarn_rotary(double wavelength, Dim width, double scaling, const Yarn& yarn, DType dtype) {
  check_turning(width);
  const auto size = static_cast<float>(width), divisor = static_cast<float>(scaling);
  Rotary rotary;
  for (Dim i = 0; i < width; i += 2) {
    const float period = std::pow(static_cast<float>(wavelength), static_cast<float>(i) / size);
    const float kept = 1.0F - ramp(yarn, wavelength, static_cast<float>(i / 2), size);
    rotary.frequencies.push_back(1.0F / (divisor * period) * (1.0F - kept) + 1.0F / period * kept);
  }
  const Rounding rounded(dtype);
  rotary.temperature = rounded(rounded(rounded(0.1) * rounded(std::log(rounded(scaling)))) + 1.0);
  return rotary;
}

Angles angles_from(Call& call, const Rotary& rotary, Dim start, Dim length, int rank) {
  return shared_angles(call, rotary, fmt::format("from {} on {} in {}", start, length, rank), [&] {
    const DType dtype = call.compute_dtype();
    const Rounding rounded(dtype);
    const auto half = static_cast<Dim>(rotary.frequencies.size()), width = 2 * half;
    const auto factor = static_cast<float>(rotary.factor);
    Shape shape(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
    shape[1] = length;
    shape[rank - 1] = width;
    Tensor cos = table(dtype, shape, "cosines of positions"), sin = table(dtype, shape, "sines of positions");
    for (Dim t = 0; t < length; ++t) {
      for (Dim i = 0; i < width; ++i) {
        const float angle = static_cast<float>(start + t) * rotary.frequencies[static_cast<std::size_t>(i % half)];
        cos.set(t * width + i, rounded(std::cos(angle) * factor) * rotary.temperature);
        sin.set(t * width + i, rounded(std::sin(angle) * factor) * rotary.temperature);
      }
    }
    Builder& b = call.builder();
    return std::vector{b.constant(std::move(cos)), b.constant(std::move(sin))};
  });
}

Angles angles_at(Call& call, const Rotary& rotary, ValueId positions, int rank) {
  return shared_angles(call, rotary, fmt::format("at %{} in {}", positions, rank), [&] {
    Builder& b = call.builder();
    const auto half = static_cast<Dim>(rotary.frequencies.size());
    Tensor scales(DType::float32, {2 * half});
    for (Dim i = 0; i < 2 * half; ++i) scales.set(i, rotary.frequencies[static_cast<std::size_t>(i % half)]);
    ValueId places = b.cast(positions, DType::float32);
    for (int axis = 2; axis < rank; ++axis) places = b.expand_dims(places, -1);
    const Expression angles = Expression(b, places) * Expression(b, b.constant(std::move(scales)));
    const auto of = [&](graph::UnaryFn fn) -> ValueId {
      const Expression exact = angles.unary(fn);
      const Expression value = (rotary.factor == 1.0 ? exact : exact * rotary.factor).cast(call.compute_dtype());
      return rotary.temperature == 1.0 ? value : value * rotary.temperature;
    };
    const ValueId cos = of(graph::UnaryFn::cos);
    return std::vector{cos, of(graph::UnaryFn::sin)};
  });
}

Expression turned(const Expression& x, const Angles& angles) {
  Builder& b = *x.builder;
  return x * Expression(b, angles.cos) + rotate_half(x) * Expression(b, angles.sin);
}

ValueId turned(Call& call, ValueId x, const Rotary& rotary) {
  Builder& b = call.builder();
  const Shape shape = b.shape(x);
  if (shape.back() % 2 != 0)
    throw bad_input("expected an even number of features in a head for rotary positions, got {}", shape.back());
  if (call.lowering().symbolic()) return x;
  const Decoding* decoding = call.lowering().decoding;
  return turned(Expression(b, x), decoding != nullptr ? angles_at(call, rotary, decoding->positions, shape.rank())
                                                      : angles_from(call, rotary, 0, shape[1], shape.rank()));
}

}  // namespace attn::keras
