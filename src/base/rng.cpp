#include "attn/base/rng.h"

#include <Random123/philox.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

std::uint64_t name_key(std::string_view name) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(name.data()), name.size());
}

double uniform_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

struct Pair {
  double first, second;
};

/// Transforms two uniform numbers to two standard normal ones (Box-Muller).
Pair normals_of(double u, double v) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u));
  const double angle = 2.0 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) : key_{seed, name_key(name)} {}

std::array<std::uint64_t, 4> RandomStream::block(std::uint64_t number) const {
  // NumPy increments first, so the first block has counter 1. No stream reaches the counter's second word.
  const auto words = r123::Philox4x64()({{number + 1, 0, 0, 0}}, {{key_[0], key_[1]}});
  return {words[0], words[1], words[2], words[3]};
}

std::uint64_t RandomStream::bits() {
  if (used_ == 4) {
    block_ = block(blocks_++);
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

double RandomStream::uniform() { return uniform_of(bits()); }

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double u = uniform();
  const Pair pair = normals_of(u, uniform());
  spare_ = pair.second;
  has_spare_ = true;
  return pair.first;
}

void RandomStream::uniforms(std::uint64_t block, std::span<double> out) const {
  for (; !out.empty(); ++block) {
    const std::array<std::uint64_t, 4> words = this->block(block);
    const std::size_t count = std::min(words.size(), out.size());
    for (std::size_t i = 0; i < count; ++i) out[i] = uniform_of(words[i]);
    out = out.subspan(count);
  }
}

void RandomStream::normals(std::uint64_t block, std::span<double> out) const {
  for (; !out.empty(); ++block) {
    const std::array<std::uint64_t, 4> words = this->block(block);
    const Pair a = normals_of(uniform_of(words[0]), uniform_of(words[1]));
    const Pair b = normals_of(uniform_of(words[2]), uniform_of(words[3]));
    const std::array<double, 4> numbers = {a.first, a.second, b.first, b.second};
    const std::size_t count = std::min(numbers.size(), out.size());
    std::copy_n(numbers.begin(), count, out.begin());
    out = out.subspan(count);
  }
}

}  // namespace attn
