// Finds the regularizers and constraints of variables in the configs of layers.
#pragma once

#include <map>
#include <string_view>

#include "config/json.h"
#include "model/variables.h"

namespace attn::keras {

/// Caches the configs of layers, so that each is serialized once.
class LayerConfigs {
 public:
  const Json& of(const Layer& layer);
  /// Returns the serialized regularizer (`what` is "_regularizer") or constraint ("_constraint") of a variable; null if
  /// it has none. "kernel_regularizer" applies to "kernel" and "query/kernel", "recurrent_regularizer" to
  /// "recurrent_kernel".
  const Json* of_variable(const Variable& variable, std::string_view what);

 private:
  std::map<const Layer*, Json> configs_;
};

}  // namespace attn::keras
