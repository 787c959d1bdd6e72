// Sampling of the next token: keras_hub.samplers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attn::generate {

enum class SamplerKind : std::uint8_t { greedy, random, top_k, top_p, beam, contrastive };

/// "greedy", …, and KerasHub's class name, "GreedySampler".
[[nodiscard]] std::string_view name_of(SamplerKind kind) noexcept;
[[nodiscard]] std::string_view class_name_of(SamplerKind kind) noexcept;
[[nodiscard]] std::optional<SamplerKind> sampler_named(std::string_view name) noexcept;

/// The lowest temperature. Below it, float32 logits divided by the temperature may be infinite.
constexpr double kLeastTemperature = 1e-30;

/// The arguments of KerasHub's samplers with their names; each kind reads its own.
struct SamplerOptions {
  SamplerKind kind = SamplerKind::top_k;
  double temperature = 1.0;
  std::optional<std::int64_t> k;  ///< default for top_k and contrastive: 5; for top_p: all tokens
  double p = 0.1;
  std::int64_t num_beams = 5;
  double alpha = 0.6;
  /// The first integer of the seed; random if empty.
  std::optional<std::int64_t> seed;
};

}  // namespace attn::generate
