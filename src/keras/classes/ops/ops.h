// The records that each family of keras.ops gives to the table, and what all operations share.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "classes/call.h"
#include "classes/class_info.h"

namespace attn::keras {

/// A node of keras.ops: its config holds a name and the operation's own parameters (the arguments of its Python
/// constructor); tensors and the other arguments of call() stand in its inbound nodes.
class Operation : public Layer {
 public:
  [[nodiscard]] bool is_operation() const override { return true; }
};

/// An operation whose call() takes the arguments `kNames`.
template <const auto& kNames>
class Taking : public Operation {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kNames; }
};

inline constexpr std::array<std::string_view, 1> kX = {"x"};
inline constexpr std::array<std::string_view, 2> kX1X2 = {"x1", "x2"};
inline constexpr std::array<std::string_view, 1> kXs = {"xs"};

/// Where Keras defines its operations, as configs name it.
inline constexpr std::string_view kCoreOps = "keras.src.ops.core", kEinopsOps = "keras.src.ops.einops",
                                  kImageOps = "keras.src.ops.image", kLinalgOps = "keras.src.ops.linalg",
                                  kMathOps = "keras.src.ops.math", kNnOps = "keras.src.ops.nn",
                                  kNumpyOps = "keras.src.ops.numpy";

/// The record of an operation whose config had no name before Keras 3.11, although it had nothing else.
constexpr ClassInfo unnamed_before_311(std::string_view name, LayerPtr (*make)(), Since since,
                                       std::string_view module) {
  return {.name = name, .make = make, .since = since, .module = module, .named_until = 0};
}

/// keras.backend.epsilon(), which stands for an epsilon of None.
inline constexpr double kEpsilon = 1e-7;

/// An axis counted from the front. Throws Error (bad_input) where x has no such axis.
[[nodiscard]] int axis_in(std::int64_t axis, const Shape& shape);
/// Axes counted from the front, ascending; all of the shape's where none are given. Throws Error (bad_input) for one
/// that is not there, or there twice.
[[nodiscard]] std::vector<int> axes_in(const std::optional<Axes>& axes, const Shape& shape);
/// An integer or a list of them as a list.
[[nodiscard]] std::vector<std::int64_t> as_list(const Axes& axes);

[[nodiscard]] Family elementwise_operations();
[[nodiscard]] Family activation_operations();
[[nodiscard]] Family reduction_operations();
[[nodiscard]] Family layout_operations();
[[nodiscard]] Family arrangement_operations();
[[nodiscard]] Family diagonal_operations();
[[nodiscard]] Family rearrange_operations();
[[nodiscard]] Family indexing_operations();
[[nodiscard]] Family joining_operations();
[[nodiscard]] Family sorting_operations();
[[nodiscard]] Family creation_operations();
[[nodiscard]] Family product_operations();
[[nodiscard]] Family normalization_operations();
[[nodiscard]] Family attention_operations();
[[nodiscard]] Family window_operations();
[[nodiscard]] Family linalg_operations();
[[nodiscard]] Family bit_operations();
[[nodiscard]] Family signal_operations();
[[nodiscard]] Family image_operations();
[[nodiscard]] Family warp_operations();
[[nodiscard]] Family refused_operations();

}  // namespace attn::keras
