// KerasHub's backbones: functional models with a flat config, whose constructor creates the layers.
#pragma once

#include <string_view>

#include "model/assembled_model.h"

namespace attn::keras {

class Backbone : public AssembledModel {
 public:
  void config(Fields& f) override;
};

/// The record of a backbone that is created from its config only.
template <typename T>
constexpr ClassInfo backbone_record(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_layer<T>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::model,
          .package = "keras_hub"};
}

[[nodiscard]] Family encoder_backbones();
[[nodiscard]] Family gemma_backbones();
[[nodiscard]] Family gpt_backbones();
[[nodiscard]] Family llama_backbones();
[[nodiscard]] Family seq_2_seq_backbones();
[[nodiscard]] Family vision_backbones();

}  // namespace attn::keras
