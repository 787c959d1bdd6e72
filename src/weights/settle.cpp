#include "attn/weights/settle.h"

#include <cstddef>
#include <cstring>
#include <memory>

#include "attn/base/parallel.h"

namespace attn::weights {
namespace {

constexpr std::int64_t padded(std::int64_t bytes) {
  constexpr auto kLine = static_cast<std::int64_t>(kAlignment);
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

std::vector<Tensor> settled(std::vector<Tensor> weights, int threads) {
  std::int64_t all = 0;
  for (const Tensor& weight : weights) all += padded(weight.bytes());
  const std::shared_ptr<std::byte> block = allocate_bytes(all);
  std::vector<std::byte*> places;
  std::byte* next = block.get();
  for (const Tensor& weight : weights) {
    places.push_back(next);
    next += padded(weight.bytes());
  }
  for_each_part(std::ssize(weights), threads, [&](std::int64_t i) {
    Tensor& weight = weights[static_cast<std::size_t>(i)];
    std::byte* const to = places[static_cast<std::size_t>(i)];
    if (weight.bytes() > 0) std::memcpy(to, weight.data(), static_cast<std::size_t>(weight.bytes()));
    weight = Tensor(weight.dtype(), weight.shape(), std::shared_ptr<std::byte>(block, to));
  });
  return weights;
}

}  // namespace attn::weights
