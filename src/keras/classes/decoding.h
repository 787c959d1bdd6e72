// Lowering new tokens that go on with what is cached of those before them.
//
// Letters: B rows of tokens, T new tokens a row, S rows of a cache, C its entries, N query heads, K key/value heads, H head
// size.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"

namespace attn::keras {

/// Where the new tokens stand, and how large the caches are. Layers that mix positions ask the lowering for it; a
/// lowering of whole sequences has none.
struct Decoding {
  graph::ValueId position = graph::kNone;   ///< () int32: of the first new token
  graph::ValueId positions = graph::kNone;  ///< (1,T) int32: of each
  graph::ValueId length = graph::kNone;     ///< () int32: position + T
  std::optional<graph::ValueId> sources;    ///< (B,S) int32: as of graph::CachedAttention
  Dim entries = 1, capacity = 0;            ///< C and S
  std::optional<DType> cache_dtype;         ///< nothing: that of the keys and values

  /// The state that the layer which is called keeps under `what`, "keys" or "values": (C,K,S,H). Each of several calls
  /// of a layer has its own.
  [[nodiscard]] graph::ValueId state(Call& call, std::string_view what, Dim heads, Dim size, DType dtype);

 private:
  std::map<std::string, int> calls_;  // by name of a state
};

/// Causal attention of the new queries (B,T,N,H) to the cached keys and values and to the new ones, (B,T,K,H) each, which
/// are appended. `op` says scale, path, soft cap and window; `further` are its bias, which broadcasts to (B,N,T,S), and
/// masks. Gives the context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_cached(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                                           graph::CachedAttention op, const std::vector<graph::ValueId>& further = {});

}  // namespace attn::keras
