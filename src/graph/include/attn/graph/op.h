// The closed set of operations. Every backend, the shape rules, the FLOP counts and the printer cover all of them; the
// compiler reports a missing case.
#pragma once

#include <string_view>
#include <type_traits>
#include <variant>

#include "attn/graph/collective_ops.h"
#include "attn/graph/plain_ops.h"
#include "attn/graph/training_ops.h"

namespace attn::graph {

/// OP(type, name) for each operation, as in the lists of its headers.
#define ATTN_OPS(OP)     \
  ATTN_MODEL_OPS(OP)     \
  ATTN_QUANTIZED_OPS(OP) \
  ATTN_CACHE_OPS(OP)     \
  ATTN_TRAINING_OPS(OP)  \
  ATTN_GRADIENT_OPS(OP)  \
  ATTN_COLLECTIVE_OPS(OP)

namespace detail {
template <typename None, typename... Ops>
using VariantOf = std::variant<Ops...>;

#define ATTN_ALTERNATIVE(type, name) , type
using OpVariant = VariantOf<void ATTN_OPS(ATTN_ALTERNATIVE)>;
#undef ATTN_ALTERNATIVE
}  // namespace detail

/// One of the operations; std::visit, std::get_if and std::holds_alternative take it as a variant. Its copies, moves
/// and destructor are compiled once, in op.cpp. Expanded in every source that handles a graph, they took 10 to 22 % of
/// the compile time.
class Op : public detail::OpVariant {
 public:
  using Variant = detail::OpVariant;

  /// Converts an operation implicitly; a type that is not in ATTN_OPS does not link.
  template <typename T>
  requires(!std::is_base_of_v<detail::OpVariant, T>) Op(T op);  // NOLINT(google-explicit-constructor)
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();
};

/// Returns whether the operation communicates between ranks.
[[nodiscard]] inline bool is_collective(const Op& op) noexcept {
#define ATTN_HOLDS(type, name) || std::holds_alternative<type>(op)
  return false ATTN_COLLECTIVE_OPS(ATTN_HOLDS);
#undef ATTN_HOLDS
}

/// Returns the operation's name in messages and profiles: "linear", "layer_norm", "add", "gelu", …
[[nodiscard]] std::string_view name_of(const Op& op) noexcept;
[[nodiscard]] std::string_view name_of(UnaryFn fn) noexcept;
[[nodiscard]] std::string_view name_of(BinaryFn fn) noexcept;
[[nodiscard]] std::string_view name_of(ReduceFn fn) noexcept;

/// An overload set for std::visit with one lambda per operation.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace attn::graph
