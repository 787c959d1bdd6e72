// Letters: see chunked_attention.h.
#include "families/blocks/sound/gemma4_audio_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "classes/composite.h"
#include "families/blocks/sound/chunked_attention.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr ChunkKeys kKeys{"num_heads", "chunk_size", "context_left", "context_right"};

/// Queries (B,U,W,N,H), keys (B,U,C,N,H) → logits (B,N,U,W,C): products of the two, and of the queries and sinusoids of
/// the distances.
class Gemma4AudioRelativePositionEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_heads", num_heads);
    f.required("context_left", context_left);
    f.required("context_right", context_right);
    f("epsilon", epsilon);
  }
  void check(const Ref& config) override {
    check_chunks(config, kKeys, hidden_size, num_heads, 1, context_left, context_right);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"queries", "keys"};
    return kNames;
  }

  void build(Weights& w, Call&) override {
    w.add("pos_proj", {hidden_size, hidden_size}, Initializer("glorot_uniform"));
  }
  Arg call(Call& call) override {
    const TensorPtr queries = call.tensor("queries");
    if (call.lowering().symbolic()) return queries;
    Builder& b = call.builder();
    const Chunks distances{1, std::max<Dim>(0, context_left - 1), context_right};
    const ValueId places =
        b.apply(graph::MatMul{}, {b.cast(distances.sinusoids(b, hidden_size), call.compute_dtype()), call.weight(0)});
    return Call::result(relative_logits(b, queries->id, call.tensor("keys")->id, places));
  }

 private:
  Positive hidden_size, num_heads;
  std::int64_t context_left = 0, context_right = 0;
  Number epsilon{1e-6};
};

/// (B,T,D) → (B,T,D): a position sees the chunk of W positions around it up to itself, and positions before.
class Gemma4AudioAttention final : public Composite, private ChunkedAttention {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    chunk_fields(f);
    f("norm_eps", norm_eps);
  }
  void check(const Ref& config) override {
    check_chunks(config, kKeys, hidden_size, num_heads, chunk_size, context_left, context_right);
    if (logit_cap == 0.0) config["logit_cap"].fail("expected another number than 0");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"hidden_states", "mask"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, hidden_size / num_heads}; }

  void build(Weights& w, Call&) override {
    w.add("per_dim_scale", {hidden_size / num_heads}, Initializer("zeros"));
    const auto projection = [&](const char* called) {
      return &make_detached("Gemma4ClippableDense", fmt::format("{}_{}", name, called), called,
                            {{"units", hidden_size.value}});
    };
    query_ = projection("q_proj");
    key_ = projection("k_proj");
    value_ = projection("v_proj");
    positions_ = &make_detached("Gemma4AudioRelativePositionEmbedding", "rpe", "rpe",
                                {{"hidden_size", hidden_size.value},
                                 {"num_heads", num_heads.value},
                                 {"context_left", past() + 1},
                                 {"context_right", context_right},
                                 {"epsilon", norm_eps.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr in = call.tensor("hidden_states");
    const DType wide = b.dtype(in->id) == DType::float64 ? DType::float64 : DType::float32;
    const TensorPtr x = Call::result(b.cast(in->id, wide));
    const auto projected = [&](Layer* layer) {
      const Shape shape = b.shape(x->id);
      const ValueId rows = b.cast(apply(call, *layer, {x})->id, wide);
      return Expression(b, b.reshape(rows, {shape[0], shape[1], num_heads, hidden_size / num_heads}));
    };
    const Expression scale(b, b.cast(call.weight(0), wide));
    const double size = static_cast<double>(hidden_size / num_heads), to_base_2 = 1.0 / std::log(2.0);
    const Expression query = projected(query_) * (to_base_2 / std::sqrt(size)) * scale.unary(graph::UnaryFn::softplus);
    const Expression key = projected(key_) * (std::log(1.0 + std::exp(1.0)) * to_base_2);
    const Expression value = projected(value_);
    if (call.lowering().symbolic()) return apply(call, *positions_, {in, in});
    const Chunks chunks{chunk_size, past(), context_right};
    const Expression raw(
        b, apply(call, *positions_, {Call::result(chunks.divided(b, query)), Call::result(chunks.around(b, key))})->id);
    const Expression logits = (raw / logit_cap.value).unary(graph::UnaryFn::tanh) * logit_cap.value;
    const Expression capped =
        where(chunks.visible(b, call.tensor("mask")->id, 1, past()), logits, logits.number(invalid_logit_value));
    const ValueId shares = b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {4}}, {b.cast(capped, wide)});
    const ValueId context = chunks.context(b, b.cast(b.cast(shares, call.compute_dtype()), wide),
                                           chunks.around(b, value), b.shape(in->id)[1]);
    return Call::result(b.cast(context, call.compute_dtype()));
  }

 private:
  [[nodiscard]] Dim past() const { return std::max<Dim>(0, context_left - 1); }

  Positive hidden_size;
  Number norm_eps{1e-6};
  Layer *query_ = nullptr, *key_ = nullptr, *value_ = nullptr, *positions_ = nullptr;
};

}  // namespace

void ChunkedAttention::chunk_fields(Fields& f) {
  f.required("num_heads", num_heads);
  f.required("chunk_size", chunk_size);
  f.required("context_left", context_left);
  f.required("context_right", context_right);
  f("logit_cap", logit_cap);
  f("invalid_logit_value", invalid_logit_value);
}

Json ChunkedAttention::chunk_arguments() const {
  return {{"num_heads", num_heads.value}, {"chunk_size", chunk_size.value},
          {"context_left", context_left}, {"context_right", context_right},
          {"logit_cap", logit_cap.value}, {"invalid_logit_value", invalid_logit_value.value}};
}

LayerPtr make_gemma4_relative_positions() { return std::make_unique<Gemma4AudioRelativePositionEmbedding>(); }
LayerPtr make_gemma4_audio_attention() { return std::make_unique<Gemma4AudioAttention>(); }

}  // namespace attn::keras
