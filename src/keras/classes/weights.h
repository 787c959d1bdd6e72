// The variables of a layer, as declared by its build().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/graph/weight.h"
#include "config/initializer.h"

namespace attn::keras {

/// Declares the variables of a layer in the order in which Keras creates them.
class Weights {
 public:
  Weights(std::vector<graph::WeightSpec>& out, DType dtype, bool trainable)
      : out_(out), dtype_(dtype), trainable_(trainable) {}

  /// Adds a variable in the current scope and returns its index in the layer. A name that begins with '/' is the whole
  /// path, for a variable that Keras creates before the layer is attached.
  int add(std::string_view name, Shape shape, const graph::Initializer& initializer, bool trainable = true);
  int add(std::string_view name, Shape shape, const Initializer& initializer, bool trainable = true) {
    return add(name, std::move(shape), initializer.value, trainable);
  }
  /// A variable whose dtype, or position among the scope's variables in .weights.h5, differs from the default.
  struct Placed {
    std::string_view name;
    Shape shape;
    graph::Initializer initializer;
    std::optional<DType> dtype{};  ///< empty: the dtype of the layer's other variables
    bool trainable = true;
    int place = 0;
    std::optional<graph::QuantizedPart> quantized{};
  };
  int add(Placed variable);
  /// Runs `body` in the scope of a sublayer: `name` is its name in variable paths, `attribute` its key in .weights.h5.
  /// An empty name adds nothing to the path.
  template <typename Body>
  void scope(std::string_view name, std::string_view attribute, Body&& body) {
    const std::string path = path_, store = store_;
    const int count = count_;
    if (!name.empty()) path_ += std::string(name) + "/";
    if (!attribute.empty()) store_ += std::string(attribute) + "/";
    count_ = 0;
    body();
    path_ = path;
    store_ = store;
    count_ = count;
  }
  /// Counts a variable of a sublayer that the layer also holds itself.
  void count_borrowed() noexcept { ++count_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  void set_dtype(DType dtype) noexcept { dtype_ = dtype; }
  /// Variables of sublayers that are created in build() do not inherit the layer's `trainable`.
  void set_trainable(bool trainable) noexcept { trainable_ = trainable; }

 private:
  std::vector<graph::WeightSpec>& out_;
  DType dtype_;
  bool trainable_;
  std::string path_, store_;
  int count_ = 0;
};

}  // namespace attn::keras
