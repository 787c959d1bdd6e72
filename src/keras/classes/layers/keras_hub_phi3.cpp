// The blocks of Phi-3 (keras_hub/src/models/phi3).
#include <array>
#include <cmath>

#include "classes/decoding.h"
#include "classes/layers/decoder_block.h"
#include "classes/layers/decoder_families.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"

namespace attn::keras {

using graph::ValueId;

void Phi3Family::fields(Fields& f) {
  f("max_sequence_length", max_sequence_length);
  f("pretraining_sequence_length", pretraining_sequence_length);
  f("rope_max_wavelength", rope_max_wavelength);
  f("rope_scaling_type", rope_scaling_type);
  f("rope_scaling_short_factor", rope_scaling_short_factor);
  f("rope_scaling_long_factor", rope_scaling_long_factor);
}

void Phi3Family::check(const Ref& config) const {
  if (!(rope_max_wavelength > 0.0)) config["rope_max_wavelength"].fail("expected a number > 0");
  if (!rope_scaling_type) return;
  if (*rope_scaling_type != "su") config["rope_scaling_type"].fail("expected null or 'su'");
  if (pretraining_sequence_length < 2) config["pretraining_sequence_length"].fail("expected an integer > 1");
  for (const auto& [key, factors] : {std::pair{"rope_scaling_short_factor", &rope_scaling_short_factor},
                                     std::pair{"rope_scaling_long_factor", &rope_scaling_long_factor}}) {
    if (!*factors) config[key].fail("expected a list of numbers, which the scaling 'su' needs");
    for (const Number& factor : **factors)
      if (!(factor > 0.0)) config[key].fail("expected numbers > 0");
  }
}

/// Cosines and sines are multiplied by √(1 + ln(max/pretraining)/ln(pretraining)) (phi3_rotary_embedding.py).
Rotary Phi3Family::rotary(Dim size, bool is_long) const {
  Rotary out{inverse_frequencies(rope_max_wavelength, size)};
  if (!rope_scaling_type) return out;
  const std::vector<Number>& factors = is_long ? *rope_scaling_long_factor : *rope_scaling_short_factor;
  if (factors.size() != out.frequencies.size())
    throw bad_input("{} {} factors are given for the {} pairs of features of a head", factors.size(),
                    is_long ? "long" : "short", out.frequencies.size());
  for (std::size_t i = 0; i < factors.size(); ++i) out.frequencies[i] /= static_cast<float>(factors[i]);
  const double times =
      static_cast<double>(max_sequence_length.value) / static_cast<double>(pretraining_sequence_length.value);
  if (times > 1.0)
    out.factor = std::sqrt(1.0 + std::log(times) / std::log(static_cast<double>(pretraining_sequence_length.value)));
  return out;
}

/// Uses the long factors if a sequence is longer than in pretraining. With a KV cache, the capacity of the cache
/// decides, so that cached keys match later tokens. KerasHub instead uses the position of each single new token,
/// regardless of how earlier tokens were rotated.
ValueId Phi3Family::turned(Call& call, ValueId x) const {
  graph::Builder& b = call.builder();
  const Shape shape = b.shape(x);
  const Decoding* decoding = call.lowering().decoding;
  const Dim length = decoding == nullptr ? shape[1] : decoding->capacity;
  const bool by_position = call.lowering().keras_hub_step;
  if (!rope_scaling_type || !by_position)
    return keras::turned(call, x, rotary(shape.back(), length > pretraining_sequence_length));
  const Expression position(b, decoding->position);
  const Expression is_long = position.number(static_cast<double>(pretraining_sequence_length.value)) < position + 1.0;
  return where(is_long, {b, keras::turned(call, x, rotary(shape.back(), true))},
               {b, keras::turned(call, x, rotary(shape.back(), false))});
}

namespace {

/// Its attention norm comes first, and its attribute names have no underscores.
class Phi3Decoder final : public GatedBlock {
 public:
  Phi3Decoder()
      : GatedBlock(std::make_unique<Phi3Family>(),
                   {.attention_class = "Phi3Attention",
                    .norm_class = "Phi3LayerNorm",
                    .attention = {"attention", "attention"},
                    .attention_norm = {"pre_attention_layernorm", "pre_attention_layernorm"},
                    .feed_forward_norm = {"post_attention_layernorm", "post_attention_layernorm"},
                    .prefix = ""}) {}
  [[nodiscard]] bool supports_masking() const override { return false; }

 private:
  void further_fields(Fields& f) override { f("hidden_dim", hidden_dim); }
  void make_parts(std::int64_t width) override {
    make_attention_norm();
    make_attention();
    make_feed_forward_norm();
    make_feed_forward(width);
  }

  std::optional<Positive> hidden_dim;  // always the input's width
};

constexpr std::array kKerasHubPhi3Classes = {
    ClassInfo{.name = "Phi3Attention",
              .make = make_grouped_attention<Phi3Family>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.phi3.phi3_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "Phi3Decoder",
              .make = make_layer<Phi3Decoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.phi3.phi3_decoder",
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_phi3_classes() { return kKerasHubPhi3Classes; }

}  // namespace attn::keras
