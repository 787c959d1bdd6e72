// TensorFlow's stateless random operations on a CPU, as implemented in tensorflow/core: groups in
// kernels/random_op_cpu.h, numbers in lib/random/random_distributions.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

#include "attn/base/error.h"
#include "attn/base/parallel.h"
#include "attn/base/stop.h"
#include "attn/base/tensorflow_random.h"
#include "attn/weights/noise.h"
#include "draw.h"

namespace attn::weights {
namespace {

using Block = TensorflowRandom::Block;

/// Numbers in one block: four of up to 32 bits, or two of 64.
template <std::floating_point Number>
constexpr int kGroup = sizeof(Number) == 8 ? 2 : 4;

template <std::floating_point Number>
using Group = std::array<Number, kGroup<Number>>;

/// Returns numbers in [0, 1): the lowest bits of a word become the mantissa.
Group<float> uniform_group(const Block& block, int mantissa_bits, float /*tag*/) {
  const std::uint32_t mask = (std::uint32_t{1} << mantissa_bits) - 1;
  const float step = 1.0F / static_cast<float>(mask + 1);
  Group<float> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(block[i] & mask) * step;
  return out;
}

Group<double> uniform_group(const Block& block, int /*mantissa_bits*/, double /*tag*/) {
  return {tensorflow_uniform(block[0], block[1]), tensorflow_uniform(block[2], block[3])};
}

/// The Box–Muller transform of two uniform numbers; TensorFlow clamps the first to avoid log(0).
template <std::floating_point Number>
void normal_pair(Number u, Number v, Number* out) {
  constexpr auto kSmallest = static_cast<Number>(1e-7);
  const Number radius = std::sqrt(Number{-2} * std::log(std::max(u, kSmallest)));
  const auto angle = static_cast<Number>(2.0 * std::numbers::pi * static_cast<double>(v));
  out[0] = std::sin(angle) * radius;
  out[1] = std::cos(angle) * radius;
}

Group<float> normal_group(const Block& block, float /*tag*/) {
  const Group<float> uniform = uniform_group(block, std::numeric_limits<float>::digits - 1, float{});
  Group<float> out{};
  normal_pair(uniform[0], uniform[1], out.data());
  normal_pair(uniform[2], uniform[3], &out[2]);
  return out;
}

Group<double> normal_group(const Block& block, double /*tag*/) {
  Group<double> out{};
  normal_pair(tensorflow_uniform(block[0], block[1]), tensorflow_uniform(block[2], block[3]), out.data());
  return out;
}

/// Normals within kTruncateAt. Each group draws from blocks of its own, so that groups are independent.
template <std::floating_point Number>
Group<Number> truncated_group(const TensorflowRandom& blocks, std::uint64_t group) {
  constexpr std::uint64_t kBlocksPerGroup = 64 * kGroup<Number>;
  Group<Number> out{};
  std::size_t filled = 0;
  for (std::uint64_t block = group * kBlocksPerGroup;; ++block) {
    for (const Number value : normal_group(blocks[block], Number{})) {
      if (!(std::fabs(value) < static_cast<Number>(kTruncateAt))) continue;
      out[filled++] = value;
      if (filled == out.size()) return out;
    }
  }
}

float product(float a, float b) { return static_cast<float>(static_cast<double>(a) * static_cast<double>(b)); }
double product(double a, double b) { return a * b; }

/// unit * scale + shift in TensorFlow's rounding: each result is rounded to the dtype, and `product` prevents the
/// compiler from fusing the operations.
template <std::floating_point Number, typename Round>
struct Scale {
  Number factor, shift;
  Round round;
  Number operator()(Number unit) const { return round(round(product(round(unit), factor)) + shift); }
};

template <std::floating_point Number, typename Round, typename Store>
void draw_numbers(const TensorflowRandom& blocks, const Draw& draw, std::int64_t size, int mantissa_bits, Round round,
                  Store store, int threads) {
  const auto fill = [&](const Scale<Number, Round>& scale, auto&& group_at) {
    for_each_part((size + kPart - 1) / kPart, threads, [&](std::int64_t part) {
      throw_if_stopped();
      const std::int64_t end = std::min(size, (part + 1) * kPart);
      for (std::int64_t first = part * kPart; first < end; first += kGroup<Number>) {
        const Group<Number> values = group_at(static_cast<std::uint64_t>(first / kGroup<Number>));
        const std::int64_t count = std::min<std::int64_t>(kGroup<Number>, end - first);
        for (std::int64_t i = 0; i < count; ++i) store(first + i, scale(values[static_cast<std::size_t>(i)]));
      }
    });
  };
  const auto argument = [&](double value) {
    // Keras's tf.cast first converts the bounds of a uniform distribution to float32.
    const bool is_bound = draw.distribution == Distribution::uniform;
    return round(is_bound ? static_cast<Number>(static_cast<float>(value)) : static_cast<Number>(value));
  };
  const Number first = argument(draw.first);
  const Number second = argument(draw.second);
  switch (draw.distribution) {
    case Distribution::uniform:
      return fill({round(second - first), first, round},
                  [&](std::uint64_t group) { return uniform_group(blocks[group], mantissa_bits, Number{}); });
    case Distribution::normal:
      return fill({second, first, round}, [&](std::uint64_t group) { return normal_group(blocks[group], Number{}); });
    case Distribution::truncated_normal:
      return fill({second, first, round}, [&](std::uint64_t group) { return truncated_group<Number>(blocks, group); });
  }
}

}  // namespace

void draw_as_tensorflow(std::int64_t seed, const Draw& draw, const Tensor& out, int threads, std::int64_t count) {
  const TensorflowRandom blocks(seed, count);
  const auto exact = [](auto value) { return value; };
  const std::int64_t size = out.size();
  switch (out.dtype()) {
    case DType::float64: {
      double* data = out.as<double>().data();
      return draw_numbers<double>(
          blocks, draw, size, 52, exact, [=](std::int64_t i, double value) { data[i] = value; }, threads);
    }
    case DType::float32: {
      float* data = out.as<float>().data();
      return draw_numbers<float>(
          blocks, draw, size, 23, exact, [=](std::int64_t i, float value) { data[i] = value; }, threads);
    }
    case DType::float16: {
      std::uint16_t* data = out.as<std::uint16_t>().data();
      return draw_numbers<float>(
          blocks, draw, size, 10, [](float value) { return float16_to_float(float_to_float16(value)); },
          [=](std::int64_t i, float value) { data[i] = float_to_float16(value); }, threads);
    }
    case DType::bfloat16: {
      std::uint16_t* data = out.as<std::uint16_t>().data();
      return draw_numbers<float>(
          blocks, draw, size, 7, [](float value) { return bfloat16_to_float(float_to_bfloat16(value)); },
          [=](std::int64_t i, float value) { data[i] = float_to_bfloat16(value); }, threads);
    }
    default:
      throw internal_error("random numbers are not drawn as {}", name_of(out.dtype()));
  }
}

void draw_noise(std::int64_t seed, std::int64_t count, const Tensor& out, int threads) {
  draw_as_tensorflow(seed, {Distribution::normal, 0.0, 1.0}, out, threads, count);
}

}  // namespace attn::weights
