// Letters: B batch, T positions, U chunks of W positions, C positions that a chunk sees, F distances, N heads, H head
// size, D width.
#include "families/blocks/sound/gemma4_audio_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/attention/attend.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::int64_t kMostPositions = 1 << 16;

/// Appends elements to axis 1 of x, which are zero or false.
ValueId padded(Builder& b, ValueId x, Dim before, Dim after) {
  graph::Pad pad;
  pad.before.assign(static_cast<std::size_t>(b.shape(x).rank()), 0);
  pad.after = pad.before;
  pad.before[1] = before;
  pad.after[1] = after;
  return before + after > 0 ? b.apply(pad, {x}) : x;
}

void check_sizes(const Ref& config, std::int64_t hidden_size, std::int64_t num_heads, std::int64_t left,
                 std::int64_t right) {
  if (hidden_size % num_heads != 0)
    config["num_heads"].fail(fmt::format("{} features cannot be divided among {} heads", hidden_size, num_heads));
  for (const auto& [key, value] : {std::pair("context_left", left), std::pair("context_right", right)})
    if (value < 0 || value > kMostPositions)
      config[key].fail(fmt::format("expected an integer from 0 to {}", kMostPositions));
}

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
    check_sizes(config, hidden_size, num_heads, context_left, context_right);
    if (hidden_size % 2 != 0)
      config["hidden_size"].fail(fmt::format("expected an even number for sinusoids, got {}", hidden_size.value));
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
    const Shape shape = b.shape(queries->id);
    const ValueId keys = call.tensor("keys")->id;
    const Dim chunks = shape[1], width = shape[2], heads = shape[3], seen = b.shape(keys)[2], distances = span();
    const Expression contents(b, b.apply(graph::Einsum{"buwnh,bucnh->bnuwc"}, {queries->id, keys}));
    const ValueId projected = b.apply(graph::MatMul{}, {b.cast(sinusoids(b), call.compute_dtype()), call.weight(0)});
    const ValueId places = b.reshape(projected, {distances, heads, shape[4]});
    const ValueId raw = b.apply(graph::Einsum{"buwnh,fnh->bnuwf"}, {queries->id, places});
    // Each row of a chunk is one distance further than the row before it.
    graph::Pad pad;
    pad.before.assign(5, 0);
    pad.after = {0, 0, 0, 0, seen + 1 - distances};
    const ValueId wide = b.reshape(b.apply(pad, {raw}), {shape[0], heads, chunks, width * (seen + 1)});
    graph::Slice slice;
    slice.ranges = {{}, {}, {}, {0, width * seen, 1}};
    const Expression shifted(b, b.reshape(b.apply(slice, {wide}), {shape[0], heads, chunks, width, seen}));
    return Call::result(contents + shifted);
  }

 private:
  [[nodiscard]] Dim span() const { return std::max<Dim>(0, context_left - 1) + context_right + 1; }

  /// Returns sines and cosines (F,D) of the distances, from the most distant earlier position on.
  [[nodiscard]] ValueId sinusoids(Builder& b) const {
    const Dim half = hidden_size / 2;
    const double step = std::log(10000.0) / static_cast<double>(std::max<Dim>(half - 1, 1));
    Tensor out = table(DType::float32, {span(), hidden_size.value}, "the angles of distances");
    for (Dim i = 0; i < span(); ++i) {
      const auto distance = static_cast<float>(span() - 1 - context_right - i);
      for (Dim k = 0; k < half; ++k) {
        const float angle = distance * static_cast<float>(std::exp(static_cast<double>(k) * -step));
        out.set(i * hidden_size + k, std::sin(angle));
        out.set(i * hidden_size + half + k, std::cos(angle));
      }
    }
    return b.constant(std::move(out));
  }

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
    check_sizes(config, hidden_size, num_heads, context_left, context_right);
    if (chunk_size > kMostPositions) config["chunk_size"].fail(fmt::format("expected at most {}", kMostPositions));
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
    const Shape shape = b.shape(in->id);
    const Dim chunks = (shape[1] + chunk_size - 1) / chunk_size, rows = chunks * chunk_size;
    const ValueId in_chunks = b.reshape(padded(b, query, 0, rows - shape[1]),
                                        {shape[0], chunks, chunk_size, num_heads, hidden_size / num_heads});
    const Expression raw(b,
                         apply(call, *positions_, {Call::result(in_chunks), Call::result(around(b, key, chunks))})->id);
    const Expression logits = (raw / logit_cap.value).unary(graph::UnaryFn::tanh) * logit_cap.value;
    const Expression capped = where(visible(call, chunks), logits, logits.number(invalid_logit_value));
    const ValueId shares = b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {4}}, {b.cast(capped, wide)});
    const ValueId context = b.apply(graph::Einsum{"bnuwc,bucnh->buwnh"},
                                    {b.cast(b.cast(shares, call.compute_dtype()), wide), around(b, value, chunks)});
    graph::Slice slice;
    slice.ranges = {{}, {0, shape[1], 1}, {}};
    const ValueId joined = b.apply(slice, {b.reshape(context, {shape[0], rows, hidden_size.value})});
    return Call::result(b.cast(joined, call.compute_dtype()));
  }

 private:
  [[nodiscard]] Dim past() const { return std::max<Dim>(0, context_left - 1); }
  [[nodiscard]] Dim seen() const { return chunk_size + past() + context_right; }

  /// Returns the positions of x (B,T,…) that each chunk sees: (B,U,C,…).
  [[nodiscard]] ValueId around(Builder& b, ValueId x, Dim chunks) const {
    const Expression chunk(
        b, b.apply(graph::Iota{{chunks, 1}, DType::int32, 0, 0.0, static_cast<double>(chunk_size)}, {}));
    const Expression place(b, b.apply(graph::Iota{{1, seen()}, DType::int32, 1}, {}));
    return b.apply(graph::Gather{1}, {padded(b, x, past(), context_right + chunk_size - 1), chunk + place});
  }

  /// Returns the mask (B,1,U,W,C): neither padding nor a later position.
  [[nodiscard]] Expression visible(Call& call, Dim chunks) const {
    Builder& b = call.builder();
    const ValueId valid = around(b, b.cast(call.tensor("mask")->id, DType::int32), chunks);
    const Shape shape = b.shape(valid);
    const Expression sound(b, b.cast(b.reshape(valid, {shape[0], 1, shape[1], 1, shape[2]}), DType::boolean));
    const Expression row(b, b.apply(graph::Iota{{1, 1, 1, chunk_size, 1}, DType::int32, 3}, {}));
    const Expression place(b, b.apply(graph::Iota{{1, 1, 1, 1, seen()}, DType::int32, 4}, {}));
    const Expression last = row + row.number(static_cast<double>(past()));
    return sound & (place <= last) & (row < place);
  }

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
