// Letters: see gemma4_vision.h; N images in all.
#include "families/blocks/images/gemma4_vision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "classes/composite.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/interleaved.h"
#include "families/blocks/images/patch_positions.h"
#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::Builder;
using graph::ValueId;

constexpr std::int64_t kMostPatchSize = 1 << 12;

void check_patch_size(const Ref& config, std::int64_t size) {
  if (size > kMostPatchSize) config["patch_size"].fail(fmt::format("expected at most {}", kMostPatchSize));
}

/// Returns x (B,I,P,…) as (N,P,…).
ValueId flattened(Builder& b, ValueId x) {
  const Shape shape = b.shape(x);
  if (shape.rank() != 4) throw bad_input("expected patches (batch, images, patches, numbers), got {}", shape.str());
  const bool unknown = shape[0] == kUnknown || shape[1] == kUnknown;
  return b.reshape(x, {unknown ? kUnknown : shape[0] * shape[1], shape[2], shape[3]});
}

/// Returns x (N,P,D) with zeros for padding.
Expression without_padding(const Expression& x, const PatchPositions& positions) {
  Builder& b = *x.builder;
  return x * Expression(b, b.expand_dims(b.cast(positions.shown, x.dtype()), 2));
}

/// (N,P,F) → (N,P,D): projections of the patches, plus a trained row for each column and for each row of an image.
class Gemma4VisionPatchEmbedder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f("position_embedding_size", position_embedding_size);
  }
  void check(const Ref& config) override { check_patch_size(config, patch_size); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"pixel_values", "pixel_position_ids"};
    return kNames;
  }

  void build(Weights& w, Call&) override {
    // KerasHub creates the variable in the constructor, outside the scope of the layers around it.
    w.add("/patch_embedder/position_embedding_table", {2, position_embedding_size, hidden_dim}, Initializer("ones"));
    input_proj_ = &make_unbiased("input_proj", hidden_dim);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const Expression pixels(b, call.tensor("pixel_values")->id);
    const TensorPtr patches = apply(call, *input_proj_, {Call::result((pixels + -0.5) * 2.0)});
    if (call.lowering().symbolic()) return patches;
    const PatchPositions positions = patch_positions(call, call.tensor("pixel_position_ids")->id);
    const auto rows = [&](Dim axis, const Expression& place) {
      graph::Slice slice;
      slice.ranges = {{axis, axis + 1, 1}, {}, {}};
      const ValueId table =
          b.reshape(b.apply(slice, {call.weight(0)}), {position_embedding_size.value, hidden_dim.value});
      return Expression(b, b.apply(graph::Gather{0}, {table, max(place, place.number(0.0)).id}));
    };
    const Expression x = rows(0, {b, positions.x}), y = rows(1, {b, positions.y});
    return Call::result(Expression(b, patches->id) + without_padding(x + y, positions));
  }

 private:
  Positive image_size, patch_size, hidden_dim, position_embedding_size = 1024;
  Layer* input_proj_ = nullptr;
};

/// (B,I,P,F) → (B,I,P,D): the patches through the blocks, with zeros for padding.
class Gemma4VisionEncoderBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("image_size", image_size);
    f.required("patch_size", patch_size);
    f.required("hidden_dim", hidden_dim);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("head_dim", head_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("position_embedding_size", position_embedding_size);
    f("rope_max_wavelength", rope_max_wavelength);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("use_clipped_linears", use_clipped_linears);
  }
  void check(const Ref& config) override { check_blocks(config, "num_layers", num_layers); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"pixel_values", "pixel_position_ids"};
    return kNames;
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("pixel_values");
    return {{{in[0], in[1], in[2], hidden_dim}}};
  }

  void build(Weights&, Call&) override {
    patch_embedder_ = &make("Gemma4VisionPatchEmbedder", "patch_embedder", "patch_embedder",
                            {{"image_size", image_size.value},
                             {"patch_size", patch_size.value},
                             {"hidden_dim", hidden_dim.value},
                             {"position_embedding_size", position_embedding_size.value}});
    const std::string list = "encoder_blocks/gemma4_vision_decoder_block";
    for (std::int64_t i = 0; i < num_layers; ++i)
      blocks_.push_back(&make("Gemma4VisionDecoderBlock", fmt::format("encoder_block_{}", i),
                              i == 0 ? list : fmt::format("{}_{}", list, i),
                              {{"hidden_dim", hidden_dim.value},
                               {"intermediate_dim", intermediate_dim.value},
                               {"head_dim", head_dim.value},
                               {"num_query_heads", num_heads.value},
                               {"num_key_value_heads", num_key_value_heads.value},
                               {"layer_norm_epsilon", layer_norm_epsilon.value},
                               {"rope_wavelength", rope_max_wavelength.value},
                               {"dropout", dropout.value},
                               {"use_clipped_linears", use_clipped_linears}}));
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr pixels = call.tensor("pixel_values"), places = call.tensor("pixel_position_ids");
    const Shape shape = b.shape(pixels->id);
    const bool symbolic = call.lowering().symbolic();
    if (!symbolic && shape.slice(0, shape.rank() - 1) != b.shape(places->id).slice(0, shape.rank() - 1))
      throw bad_input("pixel_values are {}, and pixel_position_ids {}", shape.str(), b.shape(places->id).str());
    const TensorPtr positions = Call::result(flattened(b, places->id));
    TensorPtr x = apply(call, *patch_embedder_, {Call::result(flattened(b, pixels->id)), positions});
    for (Layer* block : blocks_) {
      x = apply(call, *block, {x}, {{"position_ids", positions}});
      if (!symbolic) x = Call::result(without_padding({b, x->id}, patch_positions(call, positions->id)));
    }
    return Call::result(b.reshape(x->id, {shape[0], shape[1], shape[2], hidden_dim.value}));
  }

 private:
  Positive image_size, patch_size, hidden_dim, num_layers, num_heads, num_key_value_heads, head_dim, intermediate_dim,
      position_embedding_size = 10240;
  Number rope_max_wavelength{100.0}, layer_norm_epsilon{1e-6}, dropout{0};
  bool use_clipped_linears = true;
  Layer* patch_embedder_ = nullptr;
  std::vector<Layer*> blocks_;
};

/// (B,I,P,D) → (B,I,P/k²,D): means of squares of k patches in a row, times √D. Rows without patches are zeros.
class Gemma4VisionAveragePooling final : public Layer {
 public:
  void fields(Fields& f) override {
    if (f.reading()) f.ignored({"image_size"});  // an argument without effect, which KerasHub does not write
    f.required("patch_size", patch_size);
    f.required("pool_size", pool_size);
  }
  void check(const Ref& config) override {
    if (pool_size > kMostPatchSize) config["pool_size"].fail(fmt::format("expected at most {}", kMostPatchSize));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "pixel_position_ids"};
    return kNames;
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("inputs");
    return {{{in[0], in[1], kUnknown, in.back()}}};
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const TensorPtr in = call.tensor("inputs");
    if (call.lowering().symbolic()) return Call::result(in->id);
    const Shape shape = b.shape(in->id);
    const ValueId patches = flattened(b, in->id);
    const PatchPositions positions = patch_positions(call, flattened(b, call.tensor("pixel_position_ids")->id));
    const Dim cells = shape[2] / (pool_size * pool_size);
    if (cells == 0) throw bad_input("{} patches are too few for squares of {}", shape[2], pool_size * pool_size);
    const Expression x = from_zero({b, positions.x}), y = from_zero({b, positions.y});
    // KerasHub takes the width of all images from the last column of any image.
    const Expression width = pooled(x.reduced({graph::ReduceFn::max, {0, 1}, true}) + 1.0);
    const Expression cell(b, b.expand_dims(pooled(x) + width * pooled(y), 2));  // (N,P,1)
    const Expression counted(b, b.apply(graph::Iota{{1, 1, cells}, DType::int32, 2}, {}));
    const Expression shares = (cell == counted).cast(call.compute_dtype()) / static_cast<double>(pool_size * pool_size);
    const Expression shown = without_padding({b, patches}, positions);
    const Expression means(b, b.apply(graph::MatMul{true, false}, {shares, shown}));
    const Expression out = means * std::sqrt(static_cast<double>(shape[3]));
    return Call::result(b.reshape(out, {shape[0], shape[1], cells, shape[3]}));
  }

 private:
  static Expression from_zero(const Expression& x) { return max(x, x.number(0.0)); }
  [[nodiscard]] Expression pooled(const Expression& x) const {
    return x.binary(BinaryFn::floor_divide, x.number(static_cast<double>(pool_size.value)));
  }

  Positive patch_size, pool_size;
};

/// A norm without variables, and a projection to the width of the text model.
class Gemma4VisionOutput final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("output_dim", output_dim);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("standardize", standardize);
  }
  void build(Weights& w, Call& call) override {
    if (standardize) {
      const Shape features{call.shape("inputs").back()};
      w.add("std_bias", features, Initializer("zeros"), false);
      w.add("std_scale", features, Initializer("ones"), false);
    }
    norm_ = &make("Gemma4VNorm", "output_norm", "output_norm", {{"epsilon", layer_norm_epsilon.value}});
    projection_ = &make_unbiased("vision_input_projection", output_dim);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    Expression x(b, call.tensor("inputs")->id);
    if (standardize) x = (x - Expression(b, call.weight(0))) * Expression(b, call.weight(1));
    return apply(call, *projection_, {apply(call, *norm_, {Call::result(x)})});
  }

 private:
  Positive output_dim;
  Number layer_norm_epsilon{1e-6};
  bool standardize = false;
  Layer* norm_ = nullptr;
  Layer* projection_ = nullptr;
};

/// Puts the rows of images (B,I,P,D) into a text (B,T,D), at the positions (B,K) `vision_indices`. Only the first K/I
/// rows of each image are used.
class Gemma4InterleaveEmbeddings final : public Layer {
 public:
  void fields(Fields& f) override { f.required("num_vision_tokens_per_image", num_vision_tokens_per_image); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"image_embeddings", "text_embeddings", "vision_indices"};
    return kNames;
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const TensorPtr texts = call.tensor("text_embeddings");
    if (call.lowering().symbolic()) return Call::result(texts->id);
    const Shape images = call.shape("image_embeddings"), indices = call.shape("vision_indices");
    if (images.rank() != 4 || indices.rank() != 2 || images[0] != indices[0])
      throw bad_input("expected images (batch, images, rows, width) and indices (batch, number), got {} and {}",
                      images.str(), indices.str());
    const Dim used = std::min(indices[1], images[1] * images[2]), each = used / images[1];
    if (each * images[1] != used || used == 0)
      throw bad_input("{} vision_indices cannot be shared evenly by {} images", used, images[1]);
    graph::Slice first_rows, first_indices;
    first_rows.ranges = {{}, {}, {0, each, 1}, {}};
    first_indices.ranges = {{}, {0, used, 1}};
    const ValueId rows =
        b.reshape(b.apply(first_rows, {call.tensor("image_embeddings")->id}), {images[0], used, images[3]});
    const ValueId places = b.apply(first_indices, {call.tensor("vision_indices")->id});
    return Call::result(interleaved(b, texts->id, rows, places));
  }

 private:
  Positive num_vision_tokens_per_image;
};

}  // namespace

void Gemma4VisionEncoder::fields(Fields& f) {
  f.required("image_size", image_size);
  f.required("patch_size", patch_size);
  f.required("num_heads", num_heads);
  f.required("hidden_dim", hidden_dim);
  f.required("num_layers", num_layers);
  f.required("intermediate_dim", intermediate_dim);
  f.required("head_dim", head_dim);
  f.required("output_dim", output_dim);
  f("num_key_value_heads", num_key_value_heads);
  if (!num_key_value_heads) num_key_value_heads = num_heads;
  f("pool_size", pool_size);
  f("position_embedding_size", position_embedding_size);
  f("rope_max_wavelength", rope_max_wavelength);
  f("layer_norm_epsilon", layer_norm_epsilon);
  f("dropout", dropout);
  f("use_clipped_linears", use_clipped_linears);
  f("standardize", standardize);
}

void Gemma4VisionEncoder::check_fields(const Ref& config) {
  check_blocks(config, "num_layers", num_layers);
  check_patch_size(config, patch_size);
  checked_patches(config, "image_size", side(), side());
  if (side() < pool_size)
    config["pool_size"].fail(fmt::format("{} patches in a row are too few for squares of {}", side(), pool_size.value));
}

void Gemma4VisionEncoder::assemble() {
  const TensorRef pixels = input("pixel_values", {kUnknown, kUnknown, kUnknown, patch_numbers()}, DType::float32);
  const TensorRef positions = input("pixel_position_ids", {kUnknown, kUnknown, kUnknown, 2}, DType::int32);
  const ArgDict at{{"pixel_position_ids", positions}};
  TensorRef x = call("Gemma4VisionEncoderBlock", "image_encoder",
                     {{"image_size", image_size.value},
                      {"patch_size", patch_size.value},
                      {"hidden_dim", hidden_dim.value},
                      {"num_layers", num_layers.value},
                      {"num_heads", num_heads.value},
                      {"num_key_value_heads", num_key_value_heads->value},
                      {"head_dim", head_dim.value},
                      {"intermediate_dim", intermediate_dim.value},
                      {"position_embedding_size", position_embedding_size.value},
                      {"rope_max_wavelength", rope_max_wavelength.value},
                      {"layer_norm_epsilon", layer_norm_epsilon.value},
                      {"dropout", dropout.value},
                      {"use_clipped_linears", use_clipped_linears}},
                     {pixels}, at);
  x = call("Gemma4VisionAveragePooling", "pooling", {{"patch_size", patch_size.value}, {"pool_size", pool_size.value}},
           {x}, at);
  input_struct = ArgDict{{"pixel_values", pixels}, {"pixel_position_ids", positions}};
  output_struct = call("Gemma4VisionOutput", "vision_output_encoder",
                       {{"output_dim", output_dim.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value},
                        {"standardize", standardize}},
                       {x});
}

LayerPtr make_gemma4_patch_embedder() { return std::make_unique<Gemma4VisionPatchEmbedder>(); }
LayerPtr make_gemma4_vision_stack() { return std::make_unique<Gemma4VisionEncoderBlock>(); }
LayerPtr make_gemma4_vision_pooling() { return std::make_unique<Gemma4VisionAveragePooling>(); }
LayerPtr make_gemma4_vision_output() { return std::make_unique<Gemma4VisionOutput>(); }
LayerPtr make_gemma4_interleave() { return std::make_unique<Gemma4InterleaveEmbeddings>(); }

}  // namespace attn::keras
