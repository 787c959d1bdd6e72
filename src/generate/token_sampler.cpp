#include "token_sampler.h"

#include <numeric>
#include <random>

namespace attn::generate {
namespace {

std::int64_t seed_of(const SamplerOptions& options) {
  if (options.seed) return *options.seed;
  std::random_device device;
  return static_cast<std::int64_t>(device() >> 1U);
}

}  // namespace

TokenSampler::TokenSampler(const SamplerOptions& options) : options_(options), draws_(seed_of(options)) {}

TokenSampler::Candidates TokenSampler::candidates(std::span<const float> logits) const {
  const std::vector<float> p = probabilities(logits, options_.temperature);
  Candidates out;
  switch (options_.kind) {
    case SamplerKind::top_k:
      out.tokens = top_unsorted(p, options_.k.value_or(5));
      break;
    case SamplerKind::top_p:
      out.tokens = top_sorted(p, options_.k.value_or(std::ssize(p)));
      break;
    default:
      out.tokens.resize(p.size());
      std::iota(out.tokens.begin(), out.tokens.end(), 0);
      break;
  }
  float sum = 0.0F;  // summed in float32, as ops.cumsum does
  bool kept = true;  // top_p keeps the first token, and each token before which the sum is at most p
  for (const std::int64_t token : out.tokens) {
    const float weight = p[static_cast<std::size_t>(token)];
    out.weights.push_back(kept ? weight : 0.0F);
    sum += weight;
    if (options_.kind == SamplerKind::top_p) kept = sum <= static_cast<float>(options_.p);
  }
  return out;
}

std::vector<Token> TokenSampler::choose(std::span<const std::span<const float>> logits) {
  std::vector<Token> chosen;
  if (options_.kind == SamplerKind::greedy) {
    for (const auto row : logits) chosen.push_back(static_cast<Token>(most_probable(row, options_.temperature)));
    return chosen;
  }
  std::vector<Candidates> of;
  std::vector<std::vector<float>> weights;
  for (const auto row : logits) {
    of.push_back(candidates(row));
    weights.push_back(std::move(of.back().weights));
  }
  const std::vector<std::int64_t> drawn = draws_.draw(weights);
  for (std::size_t row = 0; row < drawn.size(); ++row)
    chosen.push_back(static_cast<Token>(of[row].tokens[static_cast<std::size_t>(drawn[row])]));
  return chosen;
}

}  // namespace attn::generate
