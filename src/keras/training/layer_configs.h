// What the configs of layers say of their variables.
#pragma once

#include <map>
#include <string_view>

#include "config/json.h"
#include "model/variables.h"

namespace attn::keras {

/// The configs of layers, each written once.
class LayerConfigs {
 public:
  const Json& of(const Layer& layer);
  /// The regularizer ("_regularizer") or constraint ("_constraint") of a variable, as its serialized object; null where
  /// it has none. "kernel_regularizer" is that of "kernel" and "query/kernel", "recurrent_regularizer" that of
  /// "recurrent_kernel".
  const Json* of_variable(const Variable& variable, std::string_view what);

 private:
  std::map<const Layer*, Json> configs_;
};

}  // namespace attn::keras
