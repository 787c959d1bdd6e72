#include "families/blocks/images/qwen3_5_vision_layers.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "classes/layers/attention/rotary.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/vision_blocks.h"

// Letters: P patches of all images, D width, N heads, H head size, B batch, T tokens, K rows of images.
namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr double kNormEpsilon = 1e-6;

/// Throws Error (bad_input), with the key, for a size that no model has; products of sizes would overflow.
void check_size(const Ref& config, const char* key, std::int64_t size, std::int64_t most = std::int64_t{1} << 24) {
  if (size > most) config[key].fail(fmt::format("more than {} are not accepted", most));
}

/// Returns the dtype of the sum that passes through the blocks. KerasHub keeps it in float32.
DType wide(const Call& call) { return call.compute_dtype() == DType::float64 ? DType::float64 : DType::float32; }

TensorPtr cast(Call& call, const TensorPtr& x, DType dtype) { return Call::result(call.builder().cast(x->id, dtype)); }

class Qwen3_5VisionPatchEmbed final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    f.required("temporal_patch_size", temporal_patch_size);
    f.required("in_channels", in_channels);
    f.required("hidden_size", hidden_size);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"pixel_values"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const Json window = {temporal_patch_size.value, patch_size.value, patch_size.value};
    projection_ =
        &make("Conv3D", "proj", "proj", {{"filters", hidden_size.value}, {"kernel_size", window}, {"strides", window}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const ValueId cells = apply(call, *projection_, {call.tensor("pixel_values")})->id;  // (P,1,1,1,D)
    Builder& b = call.builder();
    return Call::result(b.reshape(cells, {b.shape(cells)[0], hidden_size}));
  }

 private:
  Positive patch_size, temporal_patch_size, in_channels, hidden_size;
  Layer* projection_ = nullptr;
};

class Qwen3_5VisionMlp final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("intermediate_size", intermediate_size);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    first_ = &make("Dense", "fc1", "fc1", {{"units", intermediate_size.value}});
    second_ = &make("Dense", "fc2", "fc2", {{"units", hidden_size.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const ValueId inner = apply(call, *first_, {call.tensor("x")})->id;
    return apply(call, *second_, {Call::result(call.builder().unary(graph::UnaryFn::gelu_tanh, inner))});
  }

 private:
  Positive hidden_size, intermediate_size;
  Layer* first_ = nullptr;
  Layer* second_ = nullptr;
};

/// The arguments of blocks and attentions. The last one is attn's own: a mask (1,1,P,P) of the patches that see each
/// other. KerasHub passes the ends of the frames.
constexpr std::array<std::string_view, 3> kBlockArguments = {"x", "position_embeddings", "attention_mask"};

/// Attention of all patches of a frame. Cosines and sines (P,1,H) turn queries and keys.
class Qwen3_5VisionAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_heads", num_heads);
  }
  void check(const Ref& config) override {
    check_size(config, "hidden_size", hidden_size);
    check_heads(config, "num_heads", hidden_size, num_heads);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kBlockArguments; }

  void build(Weights&, Call&) override {
    all_ = &make("Dense", "qkv", "qkv", {{"units", 3 * hidden_size}});
    output_ = &make("Dense", "proj", "proj", {{"units", hidden_size.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId rows = apply(call, *all_, {call.tensor("x")})->id;  // (P,3·D)
    const Dim patches = b.shape(rows)[0], heads = num_heads, size = hidden_size / num_heads;
    const ValueId all = b.reshape(rows, {1, patches, 3 * heads, size});
    const auto part = [&](Dim i) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {i * heads, (i + 1) * heads, 1}, {}};
      return Expression(b, b.apply(slice, {all}));
    };
    Expression query = part(0), key = part(1);
    if (call.has("position_embeddings")) {
      const std::vector<TensorPtr> given = call.tensors("position_embeddings");
      const Angles angles{given[0]->id, given[1]->id};
      query = turned(query, angles);
      key = turned(key, angles);
    }
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size));
    if (const TensorPtr mask = call.optional_tensor("attention_mask")) how.masks = {mask->id};
    const ValueId context = attended_heads(call, query, key, part(2), how);
    return apply(call, *output_, {Call::result(b.reshape(context, {patches, hidden_size}))});
  }

 private:
  Positive hidden_size, num_heads;
  Layer* all_ = nullptr;
  Layer* output_ = nullptr;
};

class Qwen3_5VisionBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_heads", num_heads);
    f.required("intermediate_size", intermediate_size);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kBlockArguments; }

  void build(Weights&, Call&) override {
    const auto norm = [&](const char* called) {
      return &make("LayerNormalization", called, called, {{"epsilon", kNormEpsilon}});
    };
    attention_norm_ = norm("norm1");
    mlp_norm_ = norm("norm2");
    attention_ = &make("Qwen3_5VisionAttention", "attn", "attn",
                       {{"hidden_size", hidden_size.value}, {"num_heads", num_heads.value}});
    mlp_ = &make("Qwen3_5VisionMLP", "mlp", "mlp",
                 {{"hidden_size", hidden_size.value}, {"intermediate_size", intermediate_size.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    ArgDict how;
    for (const char* argument : {"position_embeddings", "attention_mask"})
      if (call.has(argument)) how.emplace_back(argument, call.arg(argument));
    const TensorPtr x = cast(call, call.tensor("x"), wide(call));
    const TensorPtr attended = apply(call, *attention_, {apply(call, *attention_norm_, {x})}, how);
    const TensorPtr y = sum(call, x, cast(call, attended, wide(call)));
    return sum(call, y, cast(call, apply(call, *mlp_, {apply(call, *mlp_norm_, {y})}), wide(call)));
  }

 private:
  Positive hidden_size, num_heads, intermediate_size;
  Layer* attention_norm_ = nullptr;
  Layer* mlp_norm_ = nullptr;
  Layer* attention_ = nullptr;
  Layer* mlp_ = nullptr;
};

class Qwen3_5VisionPatchMerger final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("spatial_merge_size", spatial_merge_size);
    f.required("out_hidden_size", out_hidden_size);
  }
  void check(const Ref& config) override {
    check_size(config, "hidden_size", hidden_size);
    check_size(config, "spatial_merge_size", spatial_merge_size, 1 << 10);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    norm_ = &make("LayerNormalization", "ln_q", "norm", {{"epsilon", kNormEpsilon}});
    first_ = &make("Dense", "mlp_0", "fc1", {{"units", merged_size()}});
    second_ = &make("Dense", "mlp_2", "fc2", {{"units", out_hidden_size.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId rows = apply(call, *norm_, {call.tensor("x")})->id;
    const Dim patches = b.shape(rows)[0];
    const Dim merged = patches == kUnknown ? kUnknown : patches / (spatial_merge_size * spatial_merge_size);
    const TensorPtr squares = Call::result(b.reshape(rows, {merged, merged_size()}));
    const ValueId inner = apply(call, *first_, {squares})->id;
    return apply(call, *second_, {Call::result(b.unary(graph::UnaryFn::gelu, inner))});
  }

 private:
  [[nodiscard]] Dim merged_size() const { return hidden_size * spatial_merge_size * spatial_merge_size; }

  Positive hidden_size, spatial_merge_size, out_hidden_size;
  Layer* norm_ = nullptr;
  Layer* first_ = nullptr;
  Layer* second_ = nullptr;
};

/// Puts the rows of images (…,D), K in all, into texts (B,T,D). `vision_indices`, K in all, count positions over the
/// whole batch.
class Qwen3_5InterleaveEmbeddings final : public Layer {
 public:
  void fields(Fields& f) override { f.required("hidden_dim", hidden_dim); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"image_embeddings", "text_embeddings", "vision_indices"};
    return kNames;
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId texts = call.tensor("text_embeddings")->id;
    if (call.lowering().symbolic()) return Call::result(texts);
    const Shape shape = b.shape(texts), images = call.shape("image_embeddings"), given = call.shape("vision_indices");
    const Dim width = hidden_dim;
    if (shape.back() != width || images.back() != width)
      throw bad_input("expected rows of {} features for texts and images, got {} and {}", width, shape.back(),
                      images.back());
    const Dim count = given.size(), positions = shape[0] * shape[1], rows_given = images.size() / width;
    if (count != rows_given)
      throw bad_input("vision_indices are {}, but the images have {} rows", given.str(), rows_given);
    if (count == 0) return Call::result(texts);
    const ValueId indices = b.reshape(call.tensor("vision_indices")->id, {count});
    // The number of the row at each position, from 1 on, and 0 for text. Float32 is exact below 2²⁴ rows.
    const ValueId numbers = b.apply(graph::Iota{{count}, DType::float32, 0, 1.0, 1.0}, {});
    const Expression row =
        Expression(b, b.apply(graph::ScatterAdd{0, positions}, {numbers, indices})).cast(DType::int32);
    const Expression text(b, b.apply(graph::Iota{{positions}, DType::int32, 0, static_cast<double>(count), 1.0}, {}));
    const ValueId which = where(row > 0.0, row + -1.0, text);
    const ValueId rows = b.reshape(b.cast(call.tensor("image_embeddings")->id, b.dtype(texts)), {count, width});
    const ValueId all = b.apply(graph::Concat{0}, {rows, b.reshape(texts, {positions, width})});
    return Call::result(b.reshape(b.apply(graph::Gather{0}, {all, which}), shape));
  }

 private:
  Positive hidden_dim;
};

}  // namespace

LayerPtr make_qwen3_5_patch_embed() { return std::make_unique<Qwen3_5VisionPatchEmbed>(); }
LayerPtr make_qwen3_5_vision_mlp() { return std::make_unique<Qwen3_5VisionMlp>(); }
LayerPtr make_qwen3_5_vision_attention() { return std::make_unique<Qwen3_5VisionAttention>(); }
LayerPtr make_qwen3_5_vision_block() { return std::make_unique<Qwen3_5VisionBlock>(); }
LayerPtr make_qwen3_5_patch_merger() { return std::make_unique<Qwen3_5VisionPatchMerger>(); }
LayerPtr make_qwen3_5_interleave() { return std::make_unique<Qwen3_5InterleaveEmbeddings>(); }

}  // namespace attn::keras
