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
#include "classes/layers/attention/attention_options.h"

namespace attn::keras {

/// The encoder's input sequences. The encoder reads them once, and the decoder caches their keys and values.
struct EncoderSequences {
  Dim entries = 1, length = 1;            ///< number of sequences (one for each cache entry), and their maximum length
  graph::ValueId padding = graph::kNone;  ///< (B,length) int32: 1 except for padding; kNone if nothing is padding
  /// The tokens (B,length) int32, or features (B,steps,width); only in the call that reads the sequences.
  std::optional<graph::ValueId> input;
};

/// The positions of the new tokens, and the size of the KV cache. Layers that mix positions get it from the lowering;
/// it is null if whole sequences are lowered.
struct Decoding {
  graph::ValueId position = graph::kNone;   ///< () int32: position of the first new token
  graph::ValueId positions = graph::kNone;  ///< (1,T) int32: position of each new token
  graph::ValueId length = graph::kNone;     ///< () int32: position + T
  std::optional<graph::ValueId> sources;    ///< (B,S) int32: see graph::CachedAttention
  Dim entries = 1, capacity = 0;            ///< the sizes C and S
  Dim kept = 1;                             ///< number of last tokens after each of which a CarriedState is kept
  std::optional<DType> cache_dtype;         ///< empty: the cache has the dtype of the keys and values

  std::optional<EncoderSequences> encoder;
  std::map<std::string, Shape> media;  ///< shapes of the arrays of images and sounds that this step reads, by input

  /// Adds the input `name` of an array in `media`.
  [[nodiscard]] TensorPtr media_input(graph::Builder& b, const std::string& name, DType dtype) const;

  /// Returns the state of the current layer named `what`, such as "keys". Each call of a layer has a state of its own.
  [[nodiscard]] graph::ValueId state(Call& call, std::string_view what, const Shape& shape, DType dtype);

 private:
  std::map<std::string, int> calls_;  // number of calls for each state name
};

/// The keys and values (B,length,K,H) of the encoder's sequences, in the call that reads the sequences.
struct EncodedKeys {
  graph::ValueId key = graph::kNone, value = graph::kNone;
};

/// Rows of a cache before those of the first position.
struct FrontRows {
  Dim count = 0;
  std::optional<EncodedKeys> written{};  ///< (B,count,K,H), in each call that writes them
};

/// The cache of a layer (C,K,S,H each), with the keys and values of the new tokens appended.
struct CachedKeys {
  graph::ValueId keys = graph::kNone, values = graph::kNone;
};

/// Appends new keys and values, (B,T,K,H) each, to the current layer's cache, behind the rows of `front`.
[[nodiscard]] CachedKeys append_keys(Call& call, graph::ValueId key, graph::ValueId value, const FrontRows& front = {});

/// Adds attention of the new queries (B,T,N,H) to a cache that has the new keys and values. `op` sets the scale, soft
/// cap, window, causality, and the path (one of Keras's two computations). `further` holds the bias, if there is one,
/// and the masks; all are broadcast to (B,N,T,S). All queries see the first `front` rows, which S includes. Returns the
/// context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_to_cache(Call& call, graph::ValueId query, const CachedKeys& cached,
                                             graph::CachedAttention op, const std::vector<graph::ValueId>& further = {},
                                             Dim front = 0);
/// The same for new keys and values (B,T,K,H), which are appended to the cache first.
[[nodiscard]] graph::ValueId attend_cached(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                                           graph::CachedAttention op, const std::vector<graph::ValueId>& further = {},
                                           const FrontRows& front = {});

/// Adds attention of the new queries (B,T,N,H) to the encoder's sequences. The call that reads the sequences caches
/// their keys and values, `heads` × `size` features. Returns the context (B,T,N,H).
[[nodiscard]] graph::ValueId attend_encoded(Call& call, graph::ValueId query, const std::optional<EncodedKeys>& read,
                                            Dim heads, Dim size, const AttentionOptions& how);

}  // namespace attn::keras
