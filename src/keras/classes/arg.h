// Arguments of layer calls: tensors with their masks, and other values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::keras {

/// A source of strings, or of numbers that are hashed. A graph contains neither strings nor text processing. Instead,
/// the result of the layer that reads the source becomes an input of the graph.
struct TextSource {
  std::string input;  ///< the name of their input layer
  Shape shape;
  bool numbers = false;
};

/// A tensor with its `_keras_mask` during lowering. Keras attaches the mask to the object, and layers may remove it, so
/// object identity matters. A layer that returns its input returns the same object.
struct KerasTensor {
  graph::ValueId id = graph::kNone;
  std::optional<graph::ValueId> mask;        // bool
  std::shared_ptr<const TextSource> text{};  ///< for strings: `id` then has only their shape
};
using TensorPtr = std::shared_ptr<KerasTensor>;
using Masks = std::vector<std::optional<graph::ValueId>>;

/// The keras_history of a tensor in a config.
struct TensorRef {
  std::string layer;
  int node = 0;
  int tensor = 0;
};

/// A constant array in a config; rank 0 for NumPy scalars.
struct ConstantArg {
  Tensor tensor;
};

struct SliceArg {
  graph::Range range;
};

/// `...` and `None` (a new axis) in a subscript, which differ from a missing argument.
struct EllipsisArg {};
struct NoneArg {};

/// An argument of a call: tensors, plain values, and lists or dicts of these.
struct Arg;
using ArgList = std::vector<Arg>;
using ArgDict = std::vector<std::pair<std::string, Arg>>;
struct Arg {
  std::variant<NoneArg, bool, std::int64_t, double, std::string, DType, TensorRef, TensorPtr, ConstantArg, SliceArg,
               EllipsisArg, ArgList, ArgDict>
      value;

  Arg() = default;
  template <typename T>
  Arg(T v) : value(std::move(v)) {}  // NOLINT: an argument is any of these

  [[nodiscard]] bool is_none() const { return std::holds_alternative<NoneArg>(value); }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&value);
  }
};

/// Collects all tensors of an argument in the order of keras.tree.flatten: depth first, dicts by sorted keys.
void collect_tensors(const Arg& arg, std::vector<TensorPtr>& out);
[[nodiscard]] std::vector<TensorPtr> tensors_of(const Arg& arg);

}  // namespace attn::keras
