// The activations of keras.activations, in all forms that a config may use.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "attn/graph/graph.h"
#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The functions of keras.activations that are not elementwise.
enum class WholeActivation : std::uint8_t { none, softmax, log_softmax, sparsemax, glu };

/// Keras 2's hard_sigmoid, max(0, min(1, x/5 + 1/2)), which has no name in Keras 3.
inline constexpr std::string_view kKeras2HardSigmoid = "hard_sigmoid of Keras 2";

/// The activation of a layer. `json` is its serialization in Keras: a name, or an object kept as read.
struct Activation {
  WholeActivation whole = WholeActivation::none;
  graph::Unary unary;
  Json json = "linear";

  [[nodiscard]] bool is_linear() const { return whole == WholeActivation::none && unary.fn == graph::UnaryFn::linear; }
  /// Applies the activation; functions that are not elementwise work on the last axis.
  graph::ValueId apply(graph::Builder& builder, graph::ValueId x) const;

  /// Returns the first Keras version that has the activation `name`; kOldest for an unknown name.
  [[nodiscard]] static Version since(std::string_view name);
  /// Returns the activation of this name ("relu", "swish"); empty if unknown.
  [[nodiscard]] static std::optional<Activation> named(std::string_view name);
  /// Reads an activation from a config: null, a name, an activation layer as an object, or a known serialized function.
  /// Throws Error (bad_input), with the name, for anything else. Code in a config is never executed.
  [[nodiscard]] static Activation read(const Ref& ref);
};

}  // namespace attn::keras
