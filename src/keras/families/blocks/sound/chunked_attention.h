// Attention in chunks with relative positions, as in the audio encoders of Gemma 3n and Gemma 4.
//
// Letters: B batch, T positions, U chunks of W positions, C positions that a chunk sees, F distances, N heads, H head
// size, D width.
#pragma once

#include "classes/call.h"
#include "classes/ops/expression.h"
#include "config/json.h"

namespace attn::keras {

/// Each chunk sees its own positions, `past` before them and `future` behind them.
struct Chunks {
  Dim width = 1, past = 0, future = 0;

  /// Returns C.
  [[nodiscard]] Dim seen() const { return width + past + future; }
  /// Returns F.
  [[nodiscard]] Dim distances() const { return past + future + 1; }
  /// Returns x (B,T,…) in chunks (B,U,W,…); the last one is padded with zeros.
  [[nodiscard]] graph::ValueId divided(graph::Builder& b, graph::ValueId x) const;
  /// Returns the positions of x (B,T,…) that each chunk sees: (B,U,C,…).
  [[nodiscard]] graph::ValueId around(graph::Builder& b, graph::ValueId x) const;
  /// Returns which positions are seen (B,1,U,W,C): `valid` ones (B,T), which are `first` to `last` positions behind the
  /// earliest one that the chunk's first position sees.
  [[nodiscard]] Expression visible(graph::Builder& b, graph::ValueId valid, Dim first, Dim last) const;
  /// Returns the values (B,U,C,N,H), weighted by shares (B,N,U,W,C), as `positions` positions (B,T,N·H).
  [[nodiscard]] graph::ValueId context(graph::Builder& b, graph::ValueId shares, graph::ValueId values,
                                       Dim positions) const;
  /// Returns sines and cosines (F,D) of the distances, from the most distant earlier position on.
  [[nodiscard]] graph::ValueId sinusoids(graph::Builder& b, Dim features) const;
};

/// Returns products (B,N,U,W,C) of queries (B,U,W,N,H) with keys (B,U,C,N,H), plus those of the queries with the rows
/// (F,N·H) of the distances.
[[nodiscard]] graph::ValueId relative_logits(graph::Builder& b, graph::ValueId queries, graph::ValueId keys,
                                             graph::ValueId distances);

/// The names of fields in messages.
struct ChunkKeys {
  const char *heads, *chunk, *left, *right;
};
/// Throws Error (bad_input) for features that the heads cannot share, odd ones, and sizes above the limits.
void check_chunks(const Ref& config, const ChunkKeys& keys, Dim features, Dim heads, Dim chunk, Dim left, Dim right);

}  // namespace attn::keras
