#include "attn/base/tensorflow_random.h"

#include <Random123/philox.h>

#include <limits>

namespace attn {
namespace {

std::uint32_t seed_of(std::int64_t seed) {
  constexpr std::int64_t kModulus = std::numeric_limits<std::int32_t>::max() - 1;
  return static_cast<std::uint32_t>((seed % kModulus + kModulus) % kModulus);
}

}  // namespace

TensorflowRandom::TensorflowRandom(std::int64_t first, std::int64_t second) {
  const auto mix = r123::Philox4x32()({{seed_of(first), 0, seed_of(second), 0}}, {{0x3ec8f720, 0x02461e29}});
  counter_ = {{mix[0], mix[1]}, {mix[2], mix[3]}};
}

TensorflowRandom::Block TensorflowRandom::operator[](std::uint64_t number) const {
  const auto block = r123::Philox4x32()({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                                          counter_.high[0], counter_.high[1]}},
                                        {{counter_.key[0], counter_.key[1]}});
  return {block[0], block[1], block[2], block[3]};
}

}  // namespace attn
