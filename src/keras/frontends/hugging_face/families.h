// Families of models that Hugging Face and KerasHub both have.
#pragma once

#include <span>
#include <string_view>

#include "frontends/hugging_face/config_map.h"

namespace attn::keras {

struct HuggingFaceFamily {
  std::string_view model_type;  ///< as config.json has it
  /// What the classes of the family begin with: "GPT2" of GPT2Backbone and GPT2CausalLM.
  std::string_view stem;
  /// What transformers calls the family in its architectures: "GPT2" of GPT2LMHeadModel.
  std::string_view architecture;
  /// Walks over the config of the backbone.
  void (*sizes)(ConfigMap& map);
  /// Does KerasHub have a converter for such folders?
  bool is_converted = true;
  /// Of a second row for a model type: whether its class is needed for a config, which the first row's class does not
  /// compute.
  bool (*is_needed)(const ConfigMap& map) = nullptr;
};

/// Decoders and encoders of text, and encoders of images (keras_hub/src/utils/transformers/convert_*.py).
[[nodiscard]] std::span<const HuggingFaceFamily> hugging_face_families();

}  // namespace attn::keras
