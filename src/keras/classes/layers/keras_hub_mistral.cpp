// The blocks of Mistral (keras_hub/src/models/mistral).
#include <array>

#include "classes/layers/decoder_block.h"
#include "classes/layers/decoder_families.h"
#include "classes/layers/layers.h"

namespace attn::keras {

void MistralFamily::fields(Fields& f) {
  LinearRotaryFamily::fields(f);
  f("sliding_window", sliding_window);
  f("head_dim", head_dim);
}

std::optional<std::int64_t> MistralFamily::window() const {
  return sliding_window ? std::optional(sliding_window->value) : std::nullopt;
}

namespace {

class MistralTransformerDecoder final : public GatedBlock {
 public:
  MistralTransformerDecoder()
      : GatedBlock(std::make_unique<MistralFamily>(),
                   {.attention_class = "CachedMistralAttention", .norm_class = "MistralLayerNormalization"}) {}
};

constexpr std::array kKerasHubMistralClasses = {
    ClassInfo{.name = "CachedMistralAttention",
              .make = make_grouped_attention<MistralFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mistral.mistral_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "MistralTransformerDecoder",
              .make = make_layer<MistralTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mistral.mistral_transformer_decoder",
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_mistral_classes() { return kKerasHubMistralClasses; }

}  // namespace attn::keras
