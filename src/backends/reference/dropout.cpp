// Dropout with TensorFlow's stateless random numbers (tensorflow/core/lib/random/random_distributions.h).
#include "attn/base/error.h"
#include "attn/base/tensorflow_random.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

/// Returns the number in [0, 1) whose mantissa has these bits.
double fraction(std::uint64_t bits, int mantissa) {
  const std::uint64_t one = std::uint64_t{1} << mantissa;
  return static_cast<double>(bits & (one - 1)) / static_cast<double>(one);
}

/// Returns element i of a uniform array of `dtype`.
double uniform(const TensorflowRandom& random, DType dtype, std::uint64_t i) {
  const auto word = [&](std::uint64_t number) { return random[number / 4][number % 4]; };
  switch (dtype) {
    case DType::float64:
      return fraction(std::uint64_t{word(2 * i)} << 32 | word(2 * i + 1), 52);
    case DType::float32:
      return fraction(word(i), 23);
    case DType::float16:
      return fraction(word(i), 10);
    case DType::bfloat16:
      return fraction(word(i), 7);
    default:
      break;
  }
  throw internal_error("random {} are not drawn", name_of(dtype));
}

}  // namespace

void compute(const graph::Dropout& op, Tensors in, Tensors out) {
  const DType dtype = in[0].dtype();
  const TensorflowRandom random(op.seed, read<std::int64_t>(in[1])[0]);
  const double rate = rounded(dtype, op.rate), scale = rounded(dtype, 1.0 / (1.0 - op.rate));
  std::vector<bool> kept;
  for (std::int64_t i = 0; i < op.noise.size(); ++i)
    kept.push_back(uniform(random, dtype, static_cast<std::uint64_t>(i)) >= rate);
  const Offsets noise = broadcast_offsets(op.noise, in[0].shape());
  auto x = read<double>(in[0]);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = kept[static_cast<std::size_t>(noise[i])] ? x[i] * scale : 0.0;
  write(out[0], x);
}

}  // namespace attn::backends::reference
