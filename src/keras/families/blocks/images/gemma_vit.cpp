#include "families/blocks/images/gemma_vit.h"

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr double kEpsilon = 1e-6;

/// (B,H,W,3) → (B,P,D): the patches, plus trained positions.
class GemmaVitEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f("num_channels", num_channels);
  }
  void check(const Ref& config) override { checked_patches(config, "image_size", side(), side()); }

  void build(Weights&, Call&) override {
    patch_embedding_ =
        &make("Conv2D", "embedding_conv", "patch_embedding",
              {{"filters", hidden_dim.value}, {"kernel_size", patch_size.value}, {"strides", patch_size.value}});
    position_embedding_ = &make("Embedding", "position_embedding", "position_embedding",
                                {{"input_dim", side() * side()}, {"output_dim", hidden_dim.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId patches = rows_of_cells(b, apply(call, *patch_embedding_, {call.tensor("inputs")})->id);
    const ValueId ids = b.apply(graph::Iota{{1, side() * side()}, DType::int32, 1}, {});
    return sum(call, Call::result(patches), apply(call, *position_embedding_, {Call::result(ids)}));
  }

 private:
  [[nodiscard]] std::int64_t side() const { return image_size / patch_size; }

  Positive image_size, patch_size, hidden_dim, num_channels = 3;
  Layer* patch_embedding_ = nullptr;
  Layer* position_embedding_ = nullptr;
};

/// Attention of dense layers, without a float32 softmax.
class GemmaVitAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f("dropout", dropout);
  }
  void check(const Ref& config) override {
    check_heads(config, "num_heads", hidden_dim, num_heads);
    check_rate(config, "dropout", dropout);
  }

  void build(Weights&, Call&) override {
    const auto projection = [&](const char* called) {
      return &make("Dense", called, called, {{"units", hidden_dim.value}});
    };
    query_ = projection("query_proj");
    key_ = projection("key_proj");
    value_ = projection("value_proj");
    output_ = projection("out_proj");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr x = call.tensor("inputs");
    const std::int64_t size = hidden_dim / num_heads;
    const auto heads = [&](Layer* projection) {
      const ValueId rows = apply(call, *projection, {x})->id;
      const Shape shape = b.shape(rows);
      return b.reshape(rows, {shape[0], shape[1], num_heads, size});
    };
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size));
    how.path = graph::AttentionPath::explicit_;
    const ValueId query = heads(query_), key = heads(key_), value = heads(value_);
    return apply(call, *output_, {Call::result(attended_heads(call, query, key, value, how, dropout))});
  }

 private:
  Positive hidden_dim, num_heads;
  Number dropout = 0.0;
  Layer* query_ = nullptr;
  Layer* key_ = nullptr;
  Layer* value_ = nullptr;
  Layer* output_ = nullptr;
};

class GemmaVitBlock final : public PreNormBlock {
 public:
  explicit GemmaVitBlock(const GemmaVitKind& kind) : kind_(kind) {}
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    if (kind_.several) f("layer_norm_epsilon", layer_norm_epsilon);
  }

  void build(Weights&, Call& call) override {
    const Shape in = call.shape("inputs");
    if (in.rank() != 3 || in.back() == kUnknown)
      throw bad_input("expected an input (batch, patches, width), got {}", in.str());
    attention_ = &make(kind_.attention, "multi_head_attention", "attn",
                       {{"hidden_dim", in.back()}, {"num_heads", num_heads.value}});
    norm_1_ = &make_norm("layer_norm_1", "layer_norm_1", layer_norm_epsilon);
    feed_ = {&make("Dense", "mlp_dense_1", "mlp_dense_1", {{"units", intermediate_dim.value}}),
             &make("Dense", "mlp_dense_2", "mlp_dense_2", {{"units", in.back()}})};
    norm_2_ = &make_norm("layer_norm_2", "layer_norm_2", layer_norm_epsilon);
  }

 private:
  TensorPtr attended(Call& call, const TensorPtr& x) override { return apply(call, *attention_, {x}); }
  TensorPtr fed(Call& call, const TensorPtr& x) override {
    const ValueId wide = call.builder().unary(graph::UnaryFn::gelu_tanh, apply(call, *feed_[0], {x})->id);
    return apply(call, *feed_[1], {Call::result(wide)});
  }

  const GemmaVitKind& kind_;
  Positive num_heads, intermediate_dim;
  Number layer_norm_epsilon = kEpsilon;
};

/// Images → (B,P,D), or (B·I,P,D).
class GemmaVitEncoder final : public Composite {
 public:
  explicit GemmaVitEncoder(const GemmaVitKind& kind) : kind_(kind) {}
  void fields(Fields& f) override {
    f.required("hidden_dim", sizes.hidden_dim);
    f.required("num_layers", sizes.num_layers);
    f.required("num_heads", sizes.num_heads);
    f.required("intermediate_dim", sizes.intermediate_dim);
    f.required("patch_size", sizes.patch_size);
    f.required("image_size", sizes.image_size);
    if (kind_.several) f("layer_norm_epsilon", layer_norm_epsilon);
  }
  void check(const Ref& config) override { sizes.check(config, "", "image_size"); }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Dim batch = kind_.several ? kUnknown : call.shape("inputs")[0];
    return {{{batch, sizes.side() * sizes.side(), sizes.hidden_dim}}};
  }

  void build(Weights&, Call&) override {
    norm_ = &make("LayerNormalization", "encoder_layer_norm", "encoder_layer_norm",
                  {{"epsilon", layer_norm_epsilon.value}});
    embedding_ = &make(kind_.embedding, "encoder_embeddings", "vision_embeddings",
                       {{"image_size", sizes.image_size.value},
                        {"patch_size", sizes.patch_size.value},
                        {"hidden_dim", sizes.hidden_dim.value}});
    for (std::int64_t i = 0; i < sizes.num_layers; ++i)
      blocks_.push_back(
          &make(kind_.block, fmt::format("encoder_block_{}", i),
                "resblocks/" + std::string(kind_.store) + (i == 0 ? "" : fmt::format("_{}", i)),
                {{"num_heads", sizes.num_heads.value}, {"intermediate_dim", sizes.intermediate_dim.value}}));
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    ValueId images = call.tensor("inputs")->id;
    if (kind_.several) {
      const Shape shape = b.shape(images);
      if (shape.rank() != 5) throw bad_input("expected images (batch, number, height, width, 3), got {}", shape.str());
      const bool unknown = shape[0] == kUnknown || shape[1] == kUnknown;
      images = b.reshape(images, {unknown ? kUnknown : shape[0] * shape[1], shape[2], shape[3], shape[4]});
    }
    TensorPtr x = apply(call, *embedding_, {Call::result(images)});
    for (Layer* block : blocks_) x = apply(call, *block, {x});
    return apply(call, *norm_, {x});
  }

 private:
  const GemmaVitKind& kind_;
  GemmaVitSizes sizes;
  Number layer_norm_epsilon = kEpsilon;
  Layer* norm_ = nullptr;
  Layer* embedding_ = nullptr;
  std::vector<Layer*> blocks_;
};

}  // namespace

LayerPtr make_gemma_vit_embedding() { return std::make_unique<GemmaVitEmbedding>(); }
LayerPtr make_gemma_vit_attention() { return std::make_unique<GemmaVitAttention>(); }
LayerPtr make_gemma_vit_block(const GemmaVitKind& kind) { return std::make_unique<GemmaVitBlock>(kind); }
LayerPtr make_gemma_vit_encoder(const GemmaVitKind& kind) { return std::make_unique<GemmaVitEncoder>(kind); }

void GemmaVitSizes::check(const Ref& config, std::string_view prefix, std::string_view size_key) const {
  const auto key = [&](std::string_view name) { return std::string(prefix) + std::string(name); };
  check_heads(config, key("num_heads"), hidden_dim, num_heads);
  check_blocks(config, key("num_layers"), num_layers);
  checked_patches(config, size_key, side(), side());
  if (image_size % patch_size != 0)
    config[size_key].fail(
        fmt::format("an image of {} pixels cannot be divided into patches of {}", image_size.value, patch_size.value));
}

Json GemmaVitSizes::arguments() const {
  return {{"hidden_dim", hidden_dim.value}, {"num_layers", num_layers.value},
          {"num_heads", num_heads.value},   {"intermediate_dim", intermediate_dim.value},
          {"patch_size", patch_size.value}, {"image_size", image_size.value}};
}

}  // namespace attn::keras
