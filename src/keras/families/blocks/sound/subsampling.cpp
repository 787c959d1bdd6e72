#include "families/blocks/sound/subsampling.h"

#include <fmt/format.h>

namespace attn::keras {

void check_pairs(const Ref& config, const char* key, const SizePairs& sizes) {
  constexpr std::int64_t kLargest = 1 << 16;
  for (const auto& pair : sizes)
    if (pair.size() != 2 || pair[0] > kLargest || pair[1] > kLargest)
      config[key].fail(fmt::format("expected pairs of integers up to {}", kLargest));
  if (sizes.size() != 2) config[key].fail(fmt::format("expected two pairs, got {}", sizes.size()));
}

Json json_of(const SizePairs& sizes) {
  Json out = Json::array();
  for (const auto& pair : sizes) out.push_back({pair[0].value, pair[1].value});
  return out;
}

void check_features(const Ref& config, const char* key, std::int64_t count) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (count > kMost) config[key].fail(fmt::format("expected at most {}", kMost));
}

std::int64_t strided_size(std::int64_t size, std::int64_t kernel, std::int64_t stride) {
  return size < kernel ? 0 : (size - kernel) / stride + 1;
}

}  // namespace attn::keras
