// Tensors with their masks, and what calls of layers take besides.
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

/// Strings that go into a model, or numbers that are hashed. A graph holds no strings, nor what becomes of them: what
/// reads them is an input of the graph in their place.
struct TextSource {
  std::string input;  ///< the name of their input layer
  Shape shape;
  bool numbers = false;
};

/// A tensor on its way through a model, with its `_keras_mask`. Keras hangs the mask on the object and layers may take
/// it off again, so identity matters: a layer that returns its input returns the same object.
struct KerasTensor {
  graph::ValueId id = graph::kNone;
  std::optional<graph::ValueId> mask;        // bool
  std::shared_ptr<const TextSource> text{};  ///< of strings: `id` has their shape and nothing else
};
using TensorPtr = std::shared_ptr<KerasTensor>;
using Masks = std::vector<std::optional<graph::ValueId>>;

/// keras_history of a tensor in a config.
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

/// `...` in a subscript, and `None` which inserts an axis, are told apart from a missing argument.
struct EllipsisArg {};
struct NoneArg {};

/// An argument of a call: tensors, plain values, and lists or dicts of them.
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

/// Every tensor of an argument as keras.tree.flatten has them: depth first, dicts by sorted keys.
void collect_tensors(const Arg& arg, std::vector<TensorPtr>& out);
[[nodiscard]] std::vector<TensorPtr> tensors_of(const Arg& arg);

}  // namespace attn::keras
