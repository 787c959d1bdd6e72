// Packed weights in shared regions.
#include "weight_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;

bool holds(const std::byte* bytes, std::int64_t count, std::byte value) {
  return std::all_of(bytes, bytes + count, [value](std::byte byte) { return byte == value; });
}

TEST_CASE("weight memory: weights of any size are zeroed, aligned and disjoint") {
  WeightMemory memory;
  std::vector<std::pair<std::shared_ptr<std::byte>, std::int64_t>> blocks;
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, 128 * 1024 - std::int64_t{1}, kMegabyte / 2 + 1, 3 * kMegabyte,
        16 * kMegabyte, 16 * kMegabyte + 1, 15 * kMegabyte, 15 * kMegabyte, 15 * kMegabyte, 15 * kMegabyte})
    blocks.emplace_back(memory.allocate(bytes), bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& [block, bytes] = blocks[i];
    CHECK(reinterpret_cast<std::uintptr_t>(block.get()) % kAlignment == 0);
    CHECK(holds(block.get(), bytes, std::byte{0}));
    std::memset(block.get(), static_cast<int>(i + 1), static_cast<std::size_t>(bytes));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    CHECK(holds(blocks[i].first.get(), blocks[i].second, static_cast<std::byte>(i + 1)));
}

TEST_CASE("weight memory: a weight outlives the memory and its neighbors") {
  auto memory = std::make_unique<WeightMemory>();
  std::shared_ptr<std::byte> neighbour = memory->allocate(kMegabyte), kept = memory->allocate(kMegabyte);
  std::memset(kept.get(), 7, kMegabyte);
  neighbour.reset();
  memory.reset();
  CHECK(holds(kept.get(), kMegabyte, std::byte{7}));
}

}  // namespace
}  // namespace attn::backends::cpu
