// keras.activations, by the forms in which a config may name one.
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

/// The functions of keras.activations that are no function of one number.
enum class WholeActivation : std::uint8_t { none, softmax, log_softmax, sparsemax, glu };

/// Keras 2's hard_sigmoid, max(0, min(1, x/5 + 1/2)), for which Keras 3 has no name.
inline constexpr std::string_view kKeras2HardSigmoid = "hard_sigmoid of Keras 2";

/// An activation of a layer. `json` is how Keras serializes it: a name, or an object that is kept as it was read.
struct Activation {
  WholeActivation whole = WholeActivation::none;
  graph::Unary unary;
  Json json = "linear";

  [[nodiscard]] bool is_linear() const { return whole == WholeActivation::none && unary.fn == graph::UnaryFn::linear; }
  /// Applies it (the whole ones over the last axis).
  graph::ValueId apply(graph::Builder& builder, graph::ValueId x) const;

  /// The first Keras that has the activation of a name; kOldest for a name that is not known.
  [[nodiscard]] static Version since(std::string_view name);
  /// The activation of a name ("relu", "swish"), or nothing.
  [[nodiscard]] static std::optional<Activation> named(std::string_view name);
  /// Reads it from a config: null, a name, an activation layer as an object, or a serialized function that is known.
  /// Everything else is refused by its name: nothing in a config is ever executed.
  [[nodiscard]] static Activation read(const Ref& ref);
};

}  // namespace attn::keras
