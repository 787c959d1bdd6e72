// The attention of Gemma 3n's audio encoder (keras_hub/src/models/gemma3n/gemma3n_attention.py).
//
// Letters: see chunked_attention.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "classes/composite.h"
#include "families/blocks/sound/chunked_attention.h"
#include "families/blocks/sound/gemma3n_conformer.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Queries (B,U,W,N,H), keys (B,U,C,N,H) → logits (B,N,U,W,C): products of the two, and of the queries and projected
/// sinusoids of the distances.
class Gemma3nAudioRelativePositionEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_attention_context_left", context_left);
    f.required("num_attention_context_right", context_right);
  }
  void check(const Ref& config) override {
    check_chunks(config, kGemma3nChunkKeys, hidden_size, num_attention_heads, 1, context_left, context_right);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"queries", "keys"};
    return kNames;
  }

  void build(Weights&, Call&) override { projection_ = &make_unbiased("pos_proj", hidden_size); }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const Chunks distances{1, std::max<Dim>(0, context_left - 1), context_right};
    const ValueId sinusoids = b.cast(distances.sinusoids(b, hidden_size), call.compute_dtype());
    const TensorPtr places = apply(call, *projection_, {Call::result(sinusoids)}), queries = call.tensor("queries");
    if (call.lowering().symbolic()) return queries;
    return Call::result(relative_logits(b, queries->id, call.tensor("keys")->id, places->id));
  }

 private:
  Positive hidden_size, num_attention_heads;
  std::int64_t context_left = 0, context_right = 0;
  Layer* projection_ = nullptr;
};

/// (B,T,D) with a mask (B,T), true for padding → (B,T,D): a position sees the positions before it, itself, and those
/// behind it, within the limits of a chunk.
class Gemma3nAudioAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_attention_heads", num_attention_heads);
    f.required("attention_chunk_size", attention_chunk_size);
    f.required("num_attention_context_right", context_right);
    f.required("num_attention_context_left", context_left);
    f.required("attention_logit_cap", attention_logit_cap);
  }
  void check(const Ref& config) override {
    check_chunks(config, kGemma3nChunkKeys, hidden_size, num_attention_heads, attention_chunk_size, context_left,
                 context_right);
    if (attention_logit_cap == 0.0) config["attention_logit_cap"].fail("expected another number than 0");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"hidden_states", "mask"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override {
    return Heads{num_attention_heads, hidden_size / num_attention_heads};
  }

  void build(Weights& w, Call&) override {
    w.add("per_dim_scale", {hidden_size / num_attention_heads}, Initializer("zeros"));
    positions_ =
        &make("Gemma3nAudioRelativePositionEmbedding", "relative_position_embedding", "relative_position_embedding",
              {{"hidden_size", hidden_size.value},
               {"num_attention_heads", num_attention_heads.value},
               {"num_attention_context_left", context_left},
               {"num_attention_context_right", context_right}});
    query_ = &make_unbiased("q_proj", hidden_size);
    key_ = &make_unbiased("k_proj", hidden_size);
    value_ = &make_unbiased("v_proj", hidden_size);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr in = call.tensor("hidden_states");
    const Dim size = hidden_size / num_attention_heads;
    const auto projected = [&](Layer* layer) {
      const Shape shape = b.shape(in->id);
      return Expression(b, b.reshape(apply(call, *layer, {in})->id, {shape[0], shape[1], num_attention_heads, size}));
    };
    const Expression scale(b, call.weight(0)), raw_query = projected(query_), key = projected(key_),
                                               value = projected(value_);
    if (call.lowering().symbolic()) {
      apply(call, *positions_, {in, in});
      return in;
    }
    const double factor = 1.0 / (std::sqrt(static_cast<double>(size)) * std::log(2.0));
    const Expression query = raw_query * factor * scale.unary(graph::UnaryFn::softplus).cast(raw_query.dtype());
    const Chunks chunks{attention_chunk_size, std::max<Dim>(0, context_left - 1), context_right};
    const Expression raw(
        b, apply(call, *positions_, {Call::result(chunks.divided(b, query)), Call::result(chunks.around(b, key))})->id);
    const Expression logits = (raw / attention_logit_cap.value).unary(graph::UnaryFn::tanh) * attention_logit_cap.value;
    const Expression padding(b, call.tensor("mask")->id);
    const Expression visible =
        chunks.visible(b, padding.unary(graph::UnaryFn::logical_not), 0, chunks.past + chunks.future);
    const DType wide = b.dtype(in->id) == DType::float64 ? DType::float64 : DType::float32;
    const Expression hidden = where(visible, logits, logits.number(lowest(logits.dtype())));
    const ValueId shares = b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {4}}, {b.cast(hidden, wide)});
    return Call::result(chunks.context(b, b.cast(shares, value.dtype()), chunks.around(b, value), b.shape(in->id)[1]));
  }

 private:
  /// Returns the logit of hidden positions. KerasHub's float64 model has that of float32.
  static double lowest(DType dtype) {
    constexpr double kHalf = -65504.0, kFloat = -3.4028234663852886e38;
    return dtype == DType::float16 || dtype == DType::bfloat16 ? kHalf : kFloat;
  }

  Positive hidden_size, num_attention_heads, attention_chunk_size;
  std::int64_t context_left = 0, context_right = 0;
  Number attention_logit_cap;
  Layer *positions_ = nullptr, *query_ = nullptr, *key_ = nullptr, *value_ = nullptr;
};

}  // namespace

LayerPtr make_gemma3n_relative_positions() { return std::make_unique<Gemma3nAudioRelativePositionEmbedding>(); }
LayerPtr make_gemma3n_audio_attention() { return std::make_unique<Gemma3nAudioAttention>(); }

}  // namespace attn::keras
