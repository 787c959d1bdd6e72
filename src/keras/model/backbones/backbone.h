// KerasHub's backbones: functional models with a flat config, whose constructor creates the layers.
#pragma once

#include "model/assembled_model.h"

namespace attn::keras {

class Backbone : public AssembledModel {
 public:
  void config(Fields& f) override;
};

}  // namespace attn::keras
