// What ranks share out of a model.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::parallel {

/// What is shared out.
enum class Kind : std::uint8_t {
  data,     ///< the rows of the batch; every rank has all weights
  tensor,   ///< heads, columns and rows of products, rows of vocabularies: every rank has a part of the weights
  sequence  ///< positions; every rank has all weights, and keys and values travel
};
[[nodiscard]] std::string_view name_of(Kind kind);

}  // namespace attn::parallel
