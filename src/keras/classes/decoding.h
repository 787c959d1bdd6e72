// Lowers a decode step: new tokens that attend to the KV cache.
//
// Letters: B rows of tokens, T new tokens of each row, S cache positions, C cache entries, N query heads, K key/value
// heads, H head size.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/layers/attention/attending.h"

namespace attn::keras {

/// The encoder's input sequences. The encoder reads them once, and the decoder caches their keys and values.
struct EncoderSequences {
  Dim entries = 1, length = 1;              ///< one sequence for each cache entry, and the maximum length
  graph::ValueId padding = graph::kNone;    ///< (B,length) int32: 1 except for padding
  std::optional<graph::ValueId> token_ids;  ///< (B,length) int32, in the call that reads them
};

/// The positions of the new tokens, and the size of the KV cache. Layers that mix positions get it from the lowering,
/// which has null if it lowers whole sequences.
struct Decoding {
  graph::ValueId position = graph::kNone;   ///< () int32: position of the first new token
  graph::ValueId positions = graph::kNone;  ///< (1,T) int32: position of each
  graph::ValueId length = graph::kNone;     ///< () int32: position + T
  std::optional<graph::ValueId> sources;    ///< (B,S) int32: see graph::CachedAttention
  Dim entries = 1, capacity = 0;            ///< the sizes C and S
  std::optional<DType> cache_dtype;         ///< empty: the dtype of the keys and values

  std::optional<EncoderSequences> encoder;

  /// The state of the current layer named `what` ("keys" or "values"), with a shape (…,K,…,H). Each call of a layer has
  /// its own state.
  [[nodiscard]] graph::ValueId state(Call& call, std::string_view what, const Shape& shape, DType dtype);

 private:
  std::map<std::string, int> calls_;  // calls by state name
};

/// Causal attention of the new queries (B,T,N,H) to the cached keys and values and to the new ones, (B,T,K,H) each,
/// which are appended to the cache. `op` sets the scale, soft cap, window, and which of Keras's two computations is
/// used (its path). `further` holds the bias if there is one, and the masks, all broadcast to (B,N,T,S). Returns the
/// context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_cached(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                                           graph::CachedAttention op, const std::vector<graph::ValueId>& further = {});

/// Keys and values (B,length,K,H) of the encoder's sequences, in the call that reads these.
struct EncodedKeys {
  graph::ValueId key = graph::kNone, value = graph::kNone;
};
/// Attention of the new queries (B,T,N,H) to the encoder's sequences. Their keys and values, `heads` × `size` features,
/// are cached by the call that reads the sequences. Returns the context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_encoded(Call& call, graph::ValueId query, const std::optional<EncodedKeys>& read,
                                            Dim heads, Dim size, const Attending& how);

}  // namespace attn::keras
