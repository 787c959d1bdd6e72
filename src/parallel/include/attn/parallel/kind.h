// The kinds of parallelism.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::parallel {

/// Data, tensor and sequence parallelism, by what is sharded.
enum class Kind : std::uint8_t {
  data,     ///< the rows of the batch; every rank has all weights
  tensor,   ///< heads, columns and rows of products, rows of vocabularies; every rank has shards of the weights
  sequence  ///< positions; every rank has all weights, and keys and values are exchanged
};
[[nodiscard]] std::string_view name_of(Kind kind);

}  // namespace attn::parallel
