// What calls of custom layers give, as far as it is told by the layers that read it.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "attn/base/shape.h"
#include "classes/layer.h"

namespace attn::keras {

/// Stands for a result of which nothing is known.
[[nodiscard]] inline TensorPtr unknown_result() { return std::make_shared<KerasTensor>(); }
[[nodiscard]] inline bool is_unknown(const TensorPtr& tensor) { return tensor->id == graph::kNone; }

/// Shapes of results by the places that read them: Keras keeps with a layer what shapes it was built for.
class UnknownResults {
 public:
  /// Takes what the layer's build_config says of what its first call reads.
  void learn(const Layer& reader);
  [[nodiscard]] std::optional<Shape> shape_of(const TensorRef& result) const;

 private:
  void add(const Arg& read, const Json& shape);
  std::map<std::tuple<std::string, int, int>, Shape> shapes_;
};

}  // namespace attn::keras
