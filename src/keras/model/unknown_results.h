// The results of custom layers, as far as they are known from the layers that read them.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "attn/base/shape.h"
#include "classes/layer.h"

namespace attn::keras {

/// Returns a result of unknown shape.
[[nodiscard]] inline TensorPtr unknown_result() { return std::make_shared<KerasTensor>(); }
[[nodiscard]] inline bool is_unknown(const TensorPtr& tensor) { return tensor->id == graph::kNone; }

/// Finds the shapes of results through the layers that read them: Keras stores with each layer the shapes for which it
/// was built.
class UnknownResults {
 public:
  /// Reads the shapes of the reader's first call from its build_config.
  void learn(const Layer& reader);
  [[nodiscard]] std::optional<Shape> shape_of(const TensorRef& result) const;

 private:
  void add(const Arg& read, const Json& shape);
  std::map<std::tuple<std::string, int, int>, Shape> shapes_;
};

}  // namespace attn::keras
