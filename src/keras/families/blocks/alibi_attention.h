// Attention with linear position biases: Bloom's and Falcon's.
//
// Letters: see head_attention.h.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "classes/decoding.h"
#include "classes/layers/attention/head_attention.h"

namespace attn::keras {

/// Attention with biases in query, key and value, and an output projection of the joined heads.
class AlibiAttention : public HeadAttention {
 public:
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, head_size_}; }
  void check(const Ref& config) override { HeadAttention::check(config); }

 protected:
  void declare_all(Weights& w, const Shape& in, std::string_view prefix) {
    head_size_ = in.back() / num_heads;
    if (head_size_ < 1) throw bad_input("{} features are too few for {} heads", in.back(), num_heads.value);
    const Shape width{in.back()}, heads{num_heads, head_size_};
    const auto of = [&](std::string_view called) { return std::string(prefix) + std::string(called); };
    query_ = declare(w, "query_dense", of("query_dense"), width, heads, true);
    key_ = declare(w, "key_dense", of("key_dense"), width, heads, true);
    value_ = declare(w, "value_dense", of("value_dense"), width, heads, true);
    output_ = declare(w, "output_dense", of("output_dense"), width, width, true, 2, /*by_einsum=*/false);
  }

  /// Computes the attention. `bias` is empty when only shapes are computed.
  Arg attend_with(Call& call, graph::ValueId x, std::optional<graph::ValueId> bias) {
    graph::Builder& b = call.builder();
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(head_size_));
    how.path = softmax_path(call);
    how.causal = call.flag("use_causal_mask");
    how.masks = masks(call, std::nullopt);
    how.bias = bias;
    how.scores = call.lowering().want_scores;
    const graph::ValueId query = project(call, x, query_), key = project(call, x, key_),
                         value = project(call, x, value_);
    const Attended attended = keras::attend(call, query, key, value, how);
    const Shape in = b.shape(x);
    const graph::ValueId joined = b.reshape(attended.context, {in[0], in[1], num_heads * head_size_});
    return results(call, project(call, joined, output_), {attended, {}}, std::nullopt);
  }

  /// Returns the number of keys that a query can attend to.
  static Dim keys(Call& call, Dim length) {
    const Decoding* decoding = call.lowering().decoding;
    return decoding != nullptr ? decoding->capacity : length;
  }

  Positive num_heads;
  Dim head_size_ = 0;
};

/// The names of the sizes of the attention's variables in the literature.
inline constexpr std::string_view kAlibiAttentionSymbols =
    "query_dense/kernel: d_model h d_head; query_dense/bias: h d_head; key_dense/kernel: d_model h d_head;"
    " key_dense/bias: h d_head; value_dense/kernel: d_model h d_head; value_dense/bias: h d_head;"
    " output_dense/kernel: d_model d_model; output_dense/bias: d_model";

}  // namespace attn::keras
