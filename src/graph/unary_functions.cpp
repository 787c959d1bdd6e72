#include "attn/graph/unary_functions.h"

#include <array>
#include <cstddef>

namespace attn::graph {

const UnaryRecord& record_of(UnaryFn fn) noexcept {
#define ATTN_RECORD(name, inputs, ...) UnaryRecord{#name, Domain::inputs, __VA_ARGS__},
  static constexpr std::array kRecords{ATTN_UNARY_FUNCTIONS(ATTN_RECORD)};
#undef ATTN_RECORD
  return kRecords[static_cast<std::size_t>(fn)];
}

}  // namespace attn::graph
