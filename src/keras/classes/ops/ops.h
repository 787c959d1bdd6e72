// The records of each family of keras.ops for the class table, and the common part of operations.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "classes/call.h"
#include "classes/class_info.h"

namespace attn::keras {

/// A node of keras.ops. Its config has a name and the parameters of its Python constructor. Tensors and other arguments
/// of call() are in its inbound nodes.
class Operation : public Layer {
 public:
  [[nodiscard]] bool is_operation() const override { return true; }
};

/// An operation whose call() takes the arguments `kNames`.
template <const auto& kNames>
class WithArguments : public Operation {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kNames; }
};

inline constexpr std::array<std::string_view, 1> kX = {"x"};
inline constexpr std::array<std::string_view, 2> kX1X2 = {"x1", "x2"};
inline constexpr std::array<std::string_view, 1> kXs = {"xs"};

/// The modules of operations in configs.
inline constexpr std::string_view kCoreOps = "keras.src.ops.core", kEinopsOps = "keras.src.ops.einops",
                                  kImageOps = "keras.src.ops.image", kLinalgOps = "keras.src.ops.linalg",
                                  kMathOps = "keras.src.ops.math", kNnOps = "keras.src.ops.nn",
                                  kNumpyOps = "keras.src.ops.numpy";

/// Returns the record of an operation without parameters, whose config had no name before Keras 3.11.
constexpr ClassInfo unnamed_before_311(std::string_view name, LayerPtr (*make)(), Since since,
                                       std::string_view module) {
  return {.name = name, .make = make, .since = since, .module = module, .named_until = 0};
}

/// The value of keras.backend.epsilon(), which an epsilon of None stands for.
inline constexpr double kEpsilon = 1e-7;

/// Returns an axis counted from the front. Throws Error (bad_input) if x has no such axis.
[[nodiscard]] int axis_in(std::int64_t axis, const Shape& shape);
/// Returns axes counted from the front, ascending; all axes by default. Throws Error (bad_input) for a missing or
/// repeated axis.
[[nodiscard]] std::vector<int> axes_in(const std::optional<Axes>& axes, const Shape& shape);
/// Converts an integer to a list of one.
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
[[nodiscard]] Family scatter_operations();
[[nodiscard]] Family search_operations();
[[nodiscard]] Family number_theory_operations();
[[nodiscard]] Family spacing_operations();
[[nodiscard]] Family vector_operations();
[[nodiscard]] Family refused_operations();

}  // namespace attn::keras
