// KerasHub's backbones: functional models whose config is flat and whose constructor makes the layers.
#pragma once

#include "model/assembled_model.h"

namespace attn::keras {

class Backbone : public AssembledModel {
 public:
  void config(Fields& f) override;
};

[[nodiscard]] Family encoder_backbones();
[[nodiscard]] Family gpt_backbones();
[[nodiscard]] Family llama_backbones();
[[nodiscard]] Family vision_backbones();

}  // namespace attn::keras
