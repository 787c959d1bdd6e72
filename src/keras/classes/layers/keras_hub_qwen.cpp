// The blocks of Qwen 2, 2.5 and 3 (keras_hub/src/models/qwen, qwen3).
#include <array>

#include "classes/layers/decoder_block.h"
#include "classes/layers/decoder_families.h"
#include "classes/layers/layers.h"

namespace attn::keras {

void QwenFamily::fields(Fields& f) {
  LinearRotaryFamily::fields(f);
  f("use_sliding_window_attention", use_sliding_window_attention);
  f("sliding_window_size", sliding_window_size);
}

std::optional<std::int64_t> QwenFamily::window() const {
  const bool slides = use_sliding_window_attention && sliding_window_size;
  return slides ? std::optional(sliding_window_size->value) : std::nullopt;
}

void Qwen3Family::fields(Fields& f) {
  f("head_dim", head_dim);
  LinearRotaryFamily::fields(f);
  f("sliding_window_size", sliding_window_size);
}

std::optional<std::int64_t> Qwen3Family::window() const {
  return sliding_window_size ? std::optional(sliding_window_size->value) : std::nullopt;
}

namespace {

class QwenTransformerDecoder final : public GatedBlock {
 public:
  QwenTransformerDecoder()
      : GatedBlock(std::make_unique<QwenFamily>(),
                   {.attention_class = "QwenAttention", .norm_class = "QwenLayerNorm"}) {}
};

class Qwen3TransformerDecoder final : public GatedBlock {
 public:
  Qwen3TransformerDecoder()
      : GatedBlock(std::make_unique<Qwen3Family>(),
                   {.attention_class = "Qwen3Attention", .norm_class = "Qwen3LayerNorm"}) {}
};

constexpr std::array kKerasHubQwenClasses = {
    ClassInfo{.name = "QwenAttention",
              .make = make_grouped_attention<QwenFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen.qwen_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "QwenTransformerDecoder",
              .make = make_layer<QwenTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen.qwen_decoder",
              .role = Role::transformer},
    ClassInfo{.name = "Qwen3Attention",
              .make = make_grouped_attention<Qwen3Family>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3.qwen3_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "Qwen3TransformerDecoder",
              .make = make_layer<Qwen3TransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3.qwen3_decoder",
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_qwen_classes() { return kKerasHubQwenClasses; }

}  // namespace attn::keras
