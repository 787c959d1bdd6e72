// Layers that a summary of Keras shows without parameters.
#pragma once

namespace attn::keras {

/// A layer of a subclassed model, which KerasHub builds in its constructor without Keras's notice.
class ShownUnbuilt {
 public:
  virtual ~ShownUnbuilt() = default;
};

}  // namespace attn::keras
