// Heads of Gemma's attention. Letters: see head_attention.h.
#pragma once

#include <string_view>

#include "classes/layers/attention/head_attention.h"

namespace attn::keras {

/// Attention whose kernels of queries, keys and values are stored as (heads,D,H).
class GemmaHeads : public HeadAttention {
 protected:
  /// Declares a kernel of the shape (heads,D,H).
  Projection declare_heads(Weights& w, std::string_view called, std::string_view attribute, const Shape& shape);
  /// Returns the projected x (B,T,heads,H).
  static graph::ValueId project_heads(Call& call, graph::ValueId x, const Projection& projection);
};

}  // namespace attn::keras
