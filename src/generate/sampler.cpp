#include "attn/generate/sampler.h"

#include <array>

namespace attn::generate {
namespace {

struct SamplerRow {
  SamplerKind kind;
  std::string_view name, class_name;
};

constexpr std::array<SamplerRow, 6> kSamplers = {{
    {SamplerKind::greedy, "greedy", "GreedySampler"},
    {SamplerKind::random, "random", "RandomSampler"},
    {SamplerKind::top_k, "top_k", "TopKSampler"},
    {SamplerKind::top_p, "top_p", "TopPSampler"},
    {SamplerKind::beam, "beam", "BeamSampler"},
    {SamplerKind::contrastive, "contrastive", "ContrastiveSampler"},
}};

const SamplerRow& row_of(SamplerKind kind) noexcept { return kSamplers[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name_of(SamplerKind kind) noexcept { return row_of(kind).name; }

std::string_view class_name_of(SamplerKind kind) noexcept { return row_of(kind).class_name; }

std::optional<SamplerKind> sampler_named(std::string_view name) noexcept {
  for (const SamplerRow& row : kSamplers)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

}  // namespace attn::generate
