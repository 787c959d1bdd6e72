#pragma once

#include "attn/keras/problem.h"

namespace attn::keras {

/// An error that already names its layer and the layer's place in the config. Enclosing layers do not change it.
class PlacedError : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

}  // namespace attn::keras
