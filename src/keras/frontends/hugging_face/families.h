// Families of models that both Hugging Face and KerasHub have.
#pragma once

#include <span>
#include <string_view>

#include "frontends/hugging_face/config_map.h"

namespace attn::keras {

struct HuggingFaceFamily {
  std::string_view model_type;  ///< as in config.json
  /// The prefix of the family's class names: "GPT2" for GPT2Backbone and GPT2CausalLM.
  std::string_view stem;
  /// The prefix of the family's architectures in transformers: "GPT2" for GPT2LMHeadModel.
  std::string_view architecture;
  /// Converts the config of the backbone.
  void (*sizes)(ConfigMap& map);
  /// Whether KerasHub has a converter for such folders.
  bool is_converted = true;
  /// For a second row with the same model type: whether a config needs its class, because the first row's class does
  /// not support it.
  bool (*is_needed)(const ConfigMap& map) = nullptr;
};

/// Text decoders and encoders, and image encoders (keras_hub/src/utils/transformers/convert_*.py).
[[nodiscard]] std::span<const HuggingFaceFamily> hugging_face_families();

}  // namespace attn::keras
