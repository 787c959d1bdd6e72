// The variables of a layer, as its build() declares them.
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

  /// A variable of the current scope; returns its index in the layer. A name that begins with '/' is its whole path, of
  /// a variable that Keras makes before the layer has its place.
  int add(std::string_view name, Shape shape, const graph::Initializer& initializer, bool trainable = true);
  int add(std::string_view name, Shape shape, const Initializer& initializer, bool trainable = true) {
    return add(name, std::move(shape), initializer.value, trainable);
  }
  /// A variable of its own dtype, and at its own place among those that .weights.h5 keeps of the scope: not in the
  /// order in which Keras creates them.
  struct Placed {
    std::string_view name;
    Shape shape;
    graph::Initializer initializer;
    std::optional<DType> dtype{};  ///< nothing: that of the layer's variables
    bool trainable = true;
    int place = 0;
    std::optional<graph::QuantizedPart> quantized{};
  };
  int add(Placed variable);
  /// Runs `body` inside a sublayer: `name` is its name in variable paths, `attribute` its key in .weights.h5. An empty
  /// name adds nothing to the path.
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
  /// Counts a variable of a sublayer that the layer holds as its own too.
  void count_borrowed() noexcept { ++count_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  void set_dtype(DType dtype) noexcept { dtype_ = dtype; }
  /// Variables of sublayers that the layer makes when it is built do not take over its `trainable`.
  void set_trainable(bool trainable) noexcept { trainable_ = trainable; }

 private:
  std::vector<graph::WeightSpec>& out_;
  DType dtype_;
  bool trainable_;
  std::string path_, store_;
  int count_ = 0;
};

}  // namespace attn::keras
