// The blocks of Llama and Llama 3 (keras_hub/src/models/llama).
#include <array>
#include <cmath>
#include <numbers>

#include "classes/layers/decoder_block.h"
#include "classes/layers/decoder_families.h"
#include "classes/layers/layers.h"

namespace attn::keras {

void LlamaFamily::fields(Fields& f) {
  f("rope_max_wavelength", rope_max_wavelength);
  f("rope_position_scaling_factor", rope_position_scaling_factor);
  f("rope_frequency_adjustment_factor", rope_frequency_adjustment_factor);
  f("rope_low_freq_factor", rope_low_freq_factor);
  f("rope_high_freq_factor", rope_high_freq_factor);
  f("rope_pretraining_sequence_length", rope_pretraining_sequence_length);
}

void LlamaFamily::check(const Ref& config) const {
  const auto expect_positive = [&](const char* key, const std::optional<Number>& value) {
    if (value && !(*value > 0.0)) config[key].fail("expected a number > 0 or null");
  };
  expect_positive("rope_max_wavelength", rope_max_wavelength);
  expect_positive("rope_frequency_adjustment_factor", rope_frequency_adjustment_factor);
  expect_positive("rope_low_freq_factor", rope_low_freq_factor);
  expect_positive("rope_high_freq_factor", rope_high_freq_factor);
  expect_positive("rope_pretraining_sequence_length", rope_pretraining_sequence_length);
  const int given = (rope_frequency_adjustment_factor ? 1 : 0) + (rope_low_freq_factor ? 1 : 0) +
                    (rope_high_freq_factor ? 1 : 0) + (rope_pretraining_sequence_length ? 1 : 0);
  if (given != 0 && given != 4)
    config.fail(
        "of 'rope_frequency_adjustment_factor', 'rope_low_freq_factor', 'rope_high_freq_factor' and "
        "'rope_pretraining_sequence_length' all are needed or none");
}

/// llama_rotary_embedding.py: wavelengths longer than pretraining/low are stretched by the factor, those shorter than
/// pretraining/high are kept, and the frequency is interpolated in between.
std::vector<float> LlamaFamily::frequencies(Dim size) const {
  check_turning(size);
  const auto base = static_cast<float>(rope_max_wavelength);
  std::vector<float> out;
  for (Dim i = 0; i < size; i += 2)
    out.push_back(1.0F / std::pow(base, static_cast<float>(i) / static_cast<float>(size)));
  if (!rope_low_freq_factor) return out;
  const auto factor = static_cast<float>(*rope_frequency_adjustment_factor);
  const auto low = static_cast<float>(*rope_low_freq_factor), high = static_cast<float>(*rope_high_freq_factor);
  const auto length = static_cast<float>(*rope_pretraining_sequence_length);
  for (float& frequency : out) {
    const float wavelength = 2.0F * std::numbers::pi_v<float> / frequency;
    const float stretched = frequency / factor;
    if (wavelength > length / low) {
      frequency = stretched;
    } else if (wavelength >= length / high) {
      const float smooth = (length / wavelength - low) / (high - low);
      frequency = (1.0F - smooth) * stretched + smooth * frequency;
    }
  }
  return out;
}

graph::ValueId LlamaFamily::turned(Call& call, graph::ValueId x) const {
  return keras::turned(call, x, {frequencies(call.builder().shape(x).back())});
}

namespace {

class LlamaTransformerDecoder final : public GatedBlock {
 public:
  LlamaTransformerDecoder()
      : GatedBlock(std::make_unique<LlamaFamily>(),
                   {.attention_class = "LlamaAttention", .norm_class = "LlamaLayerNorm"}) {}
};

constexpr std::array kKerasHubLlamaClasses = {
    ClassInfo{.name = "LlamaAttention",
              .make = make_grouped_attention<LlamaFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.llama.llama_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "LlamaTransformerDecoder",
              .make = make_layer<LlamaTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.llama.llama_decoder",
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_llama_classes() { return kKerasHubLlamaClasses; }

}  // namespace attn::keras
