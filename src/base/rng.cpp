#include "attn/base/rng.h"

#include <Random123/philox.h>
#include <zlib.h>

#include <cmath>
#include <numbers>

namespace attn {
namespace {

std::uint64_t name_key(std::string_view name) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(name.data()), name.size());
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) : key_{seed, name_key(name)} {}

std::uint64_t RandomStream::bits() {
  if (used_ == 4) {
    for (std::uint64_t& word : counter_) {  // NumPy counts first, so the first block has counter 1
      if (++word != 0) break;
    }
    const r123::Philox4x64::ctr_type counter{{counter_[0], counter_[1], counter_[2], counter_[3]}};
    const r123::Philox4x64::key_type key{{key_[0], key_[1]}};
    const auto block = r123::Philox4x64()(counter, key);
    for (std::size_t i = 0; i < block_.size(); ++i) block_[i] = block[i];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

double RandomStream::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double u = uniform();
  const double v = uniform();
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u));
  const double angle = 2.0 * std::numbers::pi * v;
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace attn
