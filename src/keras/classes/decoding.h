// Lowering new tokens that go on with what is cached of those before them.
//
// Letters: B rows of tokens, T new tokens a row, S rows of a cache, C its entries, N query heads, K key/value heads, H
// head size.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/layers/attending.h"

namespace attn::keras {

/// The sequences that an encoder reads once; what decoders make of them is kept.
struct EncoderSequences {
  Dim entries = 1, length = 1;              ///< one for each of the caches' branches, and the longest of them
  graph::ValueId padding = graph::kNone;    ///< (B,length) int32: 1 for what is no padding
  std::optional<graph::ValueId> token_ids;  ///< (B,length) int32, in the call that reads them
};

/// Where the new tokens stand, and how large the caches are. Layers that mix positions ask the lowering for it; a
/// lowering of whole sequences has none.
struct Decoding {
  graph::ValueId position = graph::kNone;   ///< () int32: of the first new token
  graph::ValueId positions = graph::kNone;  ///< (1,T) int32: of each
  graph::ValueId length = graph::kNone;     ///< () int32: position + T
  std::optional<graph::ValueId> sources;    ///< (B,S) int32: as of graph::CachedAttention
  Dim entries = 1, capacity = 0;            ///< C and S
  std::optional<DType> cache_dtype;         ///< nothing: that of the keys and values

  std::optional<EncoderSequences> encoder;

  /// The state that the layer which is called keeps under `what`, "keys" or "values", of some shape (…,K,…,H). Each of
  /// several calls of a layer has its own.
  [[nodiscard]] graph::ValueId state(Call& call, std::string_view what, const Shape& shape, DType dtype);

 private:
  std::map<std::string, int> calls_;  // by name of a state
};

/// Causal attention of the new queries (B,T,N,H) to the cached keys and values and to the new ones, (B,T,K,H) each,
/// which are appended. `op` says scale, path, soft cap and window; `further` are its bias, which broadcasts to
/// (B,N,T,S), and masks. Gives the context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_cached(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                                           graph::CachedAttention op, const std::vector<graph::ValueId>& further = {});

/// Keys and values (B,length,K,H) of the encoder's sequences, in the call that reads them.
struct EncodedKeys {
  graph::ValueId key = graph::kNone, value = graph::kNone;
};
/// Attention of the new queries (B,T,N,H) to the encoder's sequences, whose keys and values, `heads` of `size`
/// features, are kept from the call that has them. Gives the context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_encoded(Call& call, graph::ValueId query, const std::optional<EncodedKeys>& read,
                                            Dim heads, Dim size, const Attending& how);

}  // namespace attn::keras
