// The rows that each family of keras.ops gives to the table.
#pragma once

#include <span>

#include "table.h"

namespace attn::keras {

/// A node of keras.ops: its config holds a name and the operation's own parameters.
class Operation : public Layer {
 public:
  [[nodiscard]] bool is_operation() const override { return true; }
};

[[nodiscard]] std::span<const LayerRow> elementwise_operations();
[[nodiscard]] std::span<const LayerRow> reduction_operations();
[[nodiscard]] std::span<const LayerRow> layout_operations();
[[nodiscard]] std::span<const LayerRow> product_operations();

}  // namespace attn::keras
