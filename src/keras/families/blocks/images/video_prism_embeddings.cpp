// Letters: B batch, F frames, P patches of a frame, T tokens, D width, N heads, H head size.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/video_prism_layers.h"
#include "families/blocks/images/vision_blocks.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns the product of two sizes, of which one may be unknown.
Dim known_product(Dim x, Dim y) { return x == kUnknown || y == kUnknown ? kUnknown : x * y; }
Dim known_quotient(Dim x, Dim y) { return x == kUnknown ? kUnknown : x / y; }

/// (B,F,H,W,C) → (B·F,H,W,C).
class FactorizedReshape final : public Layer {
 public:
  void fields(Fields& f) override { f.required("image_shape", image_shape); }
  Arg call(Call& call) override {
    const Shape in = call.shape("inputs");
    if (in.rank() != 5) throw bad_input("expected videos (batch, frames, height, width, channels), got {}", in.str());
    return Call::result(
        call.builder().reshape(call.tensor("inputs")->id, {known_product(in[0], in[1]), in[2], in[3], in[4]}));
  }

 private:
  Window image_shape{{1, 1, 1}};
};

/// (B·P,F,D) → (B,F,P,D).
class FactorizedDecoding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("num_patches", num_patches);
    f.required("num_frames", num_frames);
    f.required("hidden_dim", hidden_dim);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Dim batch = known_quotient(call.shape("inputs")[0], num_patches);
    const ValueId x = b.reshape(call.tensor("inputs")->id, {batch, num_patches, num_frames, hidden_dim});
    return Call::result(b.transpose(x, {0, 2, 1, 3}));
  }

 private:
  Positive num_patches, num_frames, hidden_dim;
};

/// (B,T) → (1,T,D): sines, then cosines, of positions.
class SinusoidalPositionalEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f("min_timescale", min_timescale);
    f("max_timescale", max_timescale);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Dim length = call.shape("inputs")[1];
    const DType dtype = call.compute_dtype();
    if (length == kUnknown) return Call::result(b.apply(graph::Fill{{1, kUnknown, hidden_dim}, dtype, 0.0}, {}));
    Tensor angles = table(DType::float32, {1, length, hidden_dim}, "the angles of positions");
    const std::int64_t half = hidden_dim / 2;
    const auto least = static_cast<float>(min_timescale.value);
    const float step = std::log(static_cast<float>(max_timescale.value / min_timescale.value)) /
                       std::max(static_cast<float>(half) - 1.0F, 1.0F);
    for (Dim t = 0; t < length; ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const float angle = static_cast<float>(t) * (least * std::exp(static_cast<float>(i) * -step));
        angles.set(t * hidden_dim + i, std::sin(angle));
        angles.set(t * hidden_dim + half + i, std::cos(angle));
      }
    return Call::result(b.cast(b.constant(std::move(angles)), dtype));
  }

 private:
  Positive hidden_dim;
  Number min_timescale = 1.0, max_timescale = 1.0e4;
};

/// The trained class token for each entry of the batch: (B,1,D).
class ClassToken final : public Layer {
 public:
  void fields(Fields& f) override { f.required("hidden_dim", hidden_dim); }
  void build(Weights& w, Call&) override {
    w.add("cls_token", {1, 1, hidden_dim}, normal_numbers("RandomNormal", 1.0 / std::sqrt(width())));
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Expression token = Expression(b, call.weight(0)) * std::sqrt(width());
    return Call::result(b.apply(graph::Broadcast{{call.shape("inputs")[0], 1, hidden_dim}}, {token}));
  }

 private:
  [[nodiscard]] double width() const { return static_cast<double>(hidden_dim); }

  Positive hidden_dim;
};

/// Tokens (B,T) and their mask → (B,T+1,D) with the class token behind them, and the causal mask (B,T+1,T+1).
class VideoPrismEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("hidden_dim", hidden_dim);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"token_ids", "padding_mask"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    tokens_ = &make("Embedding", "token_embedding", "token_embedding",
                    {{"input_dim", vocabulary_size.value}, {"output_dim", hidden_dim.value}});
    positions_ = &make("SinusoidalPositionalEmbedding", "position_embedding", "position_embedding",
                       {{"hidden_dim", hidden_dim.value}});
    class_token_ = &make("VideoPrismClassToken", "class_token", "class_token", {{"hidden_dim", hidden_dim.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr ids = call.tensor("token_ids");
    Expression x(b, apply(call, *tokens_, {ids})->id);
    x = x * std::sqrt(static_cast<double>(hidden_dim));
    const TensorPtr placed = sum(call, Call::result(x), apply(call, *positions_, {ids}));
    const TensorPtr token = apply(call, *class_token_, {placed});
    const ValueId rows = b.apply(graph::Concat{1}, {placed->id, token->id});
    return ArgList{Call::result(rows), Call::result(mask(call))};
  }

 private:
  static ValueId mask(Call& call) {
    Builder& b = call.builder();
    const Shape in = call.shape("token_ids");
    if (in[1] == kUnknown) return b.apply(graph::Fill{{in[0], kUnknown, kUnknown}, DType::int32, 1.0}, {});
    const Dim length = in[1] + 1;
    const Expression query(b, b.apply(graph::Iota{{1, length, 1}, DType::int32, 1}, {}));
    const Expression key(b, b.apply(graph::Iota{{1, 1, length}, DType::int32, 2}, {}));
    const Expression causal = (key <= query).cast(DType::int32);
    const TensorPtr padding = call.optional_tensor("padding_mask");
    if (padding == nullptr) return b.apply(graph::Broadcast{{in[0], length, length}}, {causal});
    const ValueId own = b.apply(graph::Fill{{in[0], 1}, DType::int32, 1.0}, {});
    const ValueId seen = b.apply(graph::Concat{1}, {b.cast(padding->id, DType::int32), own});
    return min(Expression(b, b.expand_dims(seen, 1)), causal);
  }

  Positive vocabulary_size, hidden_dim;
  Layer* tokens_ = nullptr;
  Layer* positions_ = nullptr;
  Layer* class_token_ = nullptr;
};

/// (B·F,H,W,C) → (B·F,P,D): patches through a dense layer, plus trained positions.
class VideoPrismPatchingAndEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f("num_channels", num_channels);
  }
  void check(const Ref& config) override { checked_patches(config, "image_size", rows(), columns()); }

  void build(Weights&, Call&) override {
    patch_embedding_ = &make("Dense", "patch_embedding", "patch_embedding", {{"units", hidden_dim.value}});
    position_embedding_ = &make("Embedding", "position_embedding", "position_embedding",
                                {{"input_dim", rows() * columns()}, {"output_dim", hidden_dim.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const Dim batch = call.shape("inputs")[0], height = patch_size.items[0], width = patch_size.items[1];
    ValueId x = b.reshape(call.tensor("inputs")->id, {batch, rows(), height, columns(), width, num_channels});
    x = b.transpose(x, {0, 1, 3, 2, 4, 5});
    x = b.reshape(x, {batch, rows() * columns(), height * width * num_channels});
    const ValueId ids = b.apply(graph::Iota{{1, rows() * columns()}, DType::int32, 1}, {});
    return sum(call, apply(call, *patch_embedding_, {Call::result(x)}),
               apply(call, *position_embedding_, {Call::result(ids)}));
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return image_size.items[0] / patch_size.items[0]; }
  [[nodiscard]] std::int64_t columns() const { return image_size.items[1] / patch_size.items[1]; }

  Window image_size{{1, 1}}, patch_size{{1, 1}};
  Positive hidden_dim, num_channels = 3;
  Layer* patch_embedding_ = nullptr;
  Layer* position_embedding_ = nullptr;
};

/// (B·F,P,D) → (B·P,F,D), plus trained positions of the frames.
class VideoPrismTemporalEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_frames", num_frames);
    f.required("hidden_dim", hidden_dim);
  }
  void build(Weights&, Call&) override {
    embedding_ = &make("Embedding", "temporal_position_embedding", "embedding",
                       {{"input_dim", num_frames.value},
                        {"output_dim", hidden_dim.value},
                        {"embeddings_initializer", normal_initializer("RandomNormal", 0.02)}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const Shape in = call.shape("inputs");
    const Dim batch = known_quotient(in[0], num_frames);
    ValueId x = b.reshape(call.tensor("inputs")->id, {batch, num_frames, in[1], hidden_dim});
    x = b.reshape(b.transpose(x, {0, 2, 1, 3}), {known_product(batch, in[1]), num_frames, hidden_dim});
    const ValueId ids = b.apply(graph::Iota{{1, num_frames}, DType::int32, 1}, {});
    return sum(call, Call::result(x), apply(call, *embedding_, {Call::result(ids)}));
  }

 private:
  Positive num_frames, hidden_dim;
  Layer* embedding_ = nullptr;
};

}  // namespace

LayerPtr make_video_prism_reshape() { return std::make_unique<FactorizedReshape>(); }
LayerPtr make_video_prism_decoding() { return std::make_unique<FactorizedDecoding>(); }
LayerPtr make_video_prism_positions() { return std::make_unique<SinusoidalPositionalEmbedding>(); }
LayerPtr make_video_prism_class_token() { return std::make_unique<ClassToken>(); }
LayerPtr make_video_prism_embedding() { return std::make_unique<VideoPrismEmbedding>(); }
LayerPtr make_video_prism_patches() { return std::make_unique<VideoPrismPatchingAndEmbedding>(); }
LayerPtr make_video_prism_frames() { return std::make_unique<VideoPrismTemporalEmbedding>(); }

}  // namespace attn::keras
