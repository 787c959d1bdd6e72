// The closed set of operations. Every backend, the shape rules, the FLOP counts and the printer cover all of them; the
// compiler reports a missing case.
#pragma once

#include <string_view>
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
}  // namespace detail

#define ATTN_ALTERNATIVE(type, name) , type
using Op = detail::VariantOf<void ATTN_OPS(ATTN_ALTERNATIVE)>;
#undef ATTN_ALTERNATIVE

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
