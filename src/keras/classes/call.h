// A layer call during lowering.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/layer.h"
#include "classes/lowering.h"

namespace attn::keras {

/// A layer call: its bound arguments, and the functions to lower it.
class Call {
 public:
  Call(Lowering& lowering, Layer& layer, std::map<std::string, Arg, std::less<>> bound)
      : lowering_(lowering), layer_(layer), bound_(std::move(bound)) {}

  [[nodiscard]] Lowering& lowering() noexcept { return lowering_; }
  [[nodiscard]] graph::Builder& builder() noexcept;
  [[nodiscard]] Layer& layer() noexcept { return layer_; }

  [[nodiscard]] bool has(std::string_view name) const;  ///< whether the argument was given and is not None
  [[nodiscard]] const Arg& arg(std::string_view name) const;
  void set(std::string_view name, Arg value) { bound_[std::string(name)] = std::move(value); }
  /// Returns the tensor argument; throws Error (bad_input) if it is missing or not a tensor.
  [[nodiscard]] TensorPtr tensor(std::string_view name) const;
  [[nodiscard]] TensorPtr optional_tensor(std::string_view name) const;  ///< null if absent
  /// Returns a list of tensors (merge layers).
  [[nodiscard]] std::vector<TensorPtr> tensors(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name, bool missing = false) const;
  [[nodiscard]] Shape shape(const TensorPtr& tensor);
  [[nodiscard]] Shape shape(std::string_view name) { return shape(tensor(name)); }

  /// Returns the layer's variable, cast to the compute dtype (Keras's autocast scope); raw_weight returns it as stored.
  graph::ValueId weight(int index);
  graph::ValueId raw_weight(int index);
  /// Returns a tensor without a mask.
  [[nodiscard]] static TensorPtr result(graph::ValueId id) {
    return std::make_shared<KerasTensor>(KerasTensor{id, {}});
  }
  [[nodiscard]] DType compute_dtype() const;

 private:
  Lowering& lowering_;
  Layer& layer_;
  std::map<std::string, Arg, std::less<>> bound_;
};

}  // namespace attn::keras
