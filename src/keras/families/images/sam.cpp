// SAM, which segments what points, boxes and masks show (keras_hub/src/models/sam).
//
// Letters: B batch, P points, M boxes, K tokens, H height, W width, D features, N heads.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "classes/reading.h"
#include "families/blocks/images/vit_det_backbone.h"
#include "families/model_family.h"
#include "model/tasks/task.h"

namespace attn::keras::sam {
namespace {

using graph::Builder;
using graph::ValueId;

Expression joined(Builder& b, int axis, std::vector<ValueId> parts) {
  return {b, b.apply(graph::Concat{axis}, std::move(parts))};
}
/// Returns the product of a size that may be unknown.
Dim times(Dim x, Dim factor) { return x == kUnknown ? kUnknown : x * factor; }

/// Points, boxes and masks → the vectors of points and corners (B,P+2M,D), those of the cells of masks (B,H,W,D), and
/// those of the places of all cells (1,H,W,D). Except for places, KerasHub computes in float32.
class SAMPromptEncoder final : public NamedParts {
 public:
  void fields(Fields& f) override {
    f("hidden_size", hidden_size);
    f("image_embedding_size", image_embedding_size);
    f("input_image_size", input_image_size);
    f("mask_in_channels", mask_in_channels);
    f("activation", activation);
  }
  void check(const Ref& config) override {
    if (hidden_size % 2 != 0) config["hidden_size"].fail("expected an even number");
    if (mask_in_channels < 4) config["mask_in_channels"].fail("expected 4 or more");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 5> kNames = {"images", "points", "labels", "boxes", "masks"};
    return kNames;
  }

  void build(Weights& w, Call&) override {
    // KerasHub adds the variable in the constructor, so its path does not have the name of the encoder.
    w.scope("", "positional_embedding_layer", [&] {
      w.add("/" + next_name("RandomFrequencyPositionalEmbeddings") + "/positional_encoding_gaussian_matrix",
            {2, hidden_size / 2}, Initializer("normal"), false);
    });
    const DTypePolicy stated = std::exchange(policy, {});
    const auto embedding = [&](const char* called) {
      return &make("Embedding", called, called, {{"input_dim", 1}, {"output_dim", hidden_size.value}});
    };
    foreground_ = embedding("foreground_point_embed");
    background_ = embedding("background_point_embed");
    top_left_ = embedding("top_left_corner_embed");
    bottom_right_ = embedding("bottom_right_corner_embed");
    no_point_ = embedding("not_a_point_embed");
    const auto convolution = [&](const char* attribute, std::int64_t filters, std::int64_t size) {
      downscaler_.push_back(&make("Conv2D", "mask_downscaler/" + next_name("Conv2D"),
                                  std::string("mask_downscaler/layers/") + attribute,
                                  {{"filters", filters}, {"kernel_size", size}, {"strides", size}}));
    };
    const auto norm = [&](const char* attribute) {
      downscaler_.push_back(&make("LayerNormalization", "mask_downscaler/" + next_name("LayerNormalization"),
                                  std::string("mask_downscaler/layers/") + attribute, {{"epsilon", 1e-6}}));
    };
    convolution("conv2d", mask_in_channels / 4, 2);
    norm("layer_normalization");
    convolution("conv2d_1", mask_in_channels, 2);
    norm("layer_normalization_1");
    convolution("conv2d_2", hidden_size, 1);
    no_mask_ = embedding("no_mask_embed");
    policy = stated;
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const Dim rows = image_embedding_size.items[0], columns = image_embedding_size.items[1];
    const ValueId sparse = joined(b, 1, {points(call), boxes(call)});
    check_table({rows, columns, 2}, "the places of an image");
    Tensor places(call.compute_dtype(), {rows * columns, 2});
    for (Dim i = 0; i < rows * columns; ++i) {
      places.set(2 * i, (static_cast<double>(i % columns) + 0.5) / static_cast<double>(columns));
      places.set(2 * i + 1, (static_cast<double>(i / columns) + 0.5) / static_cast<double>(rows));
    }
    const ValueId positions = encoded(call, {b, b.constant(std::move(places))});
    return ArgDict{
        {"prompt_sparse_embeddings", Call::result(sparse)},
        {"prompt_dense_embeddings", Call::result(masks(call))},
        {"prompt_dense_positional_embeddings", Call::result(b.reshape(positions, {1, rows, columns, hidden_size}))}};
  }

  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Dim batch = call.shape("points")[0];
    const Shape cells{batch, image_embedding_size.items[0], image_embedding_size.items[1], hidden_size};
    return {{cells, cells, {batch, kUnknown, hidden_size}}};
  }

 private:
  /// Returns the vectors (…,D) of places (…,2), which are from 0 to 1.
  [[nodiscard]] Expression encoded(Call& call, const Expression& places) const {
    Builder& b = call.builder();
    const Expression matrix(b, call.weight(0));
    const Expression centered = places.cast(matrix.dtype()) * 2.0 + -1.0;
    const Expression turns = Expression(b, b.apply(graph::MatMul{}, {centered, matrix})) * (2.0 * std::numbers::pi);
    const int last = turns.shape().rank() - 1;
    return joined(b, last, {turns.unary(graph::UnaryFn::sin), turns.unary(graph::UnaryFn::cos)});
  }
  /// Returns the vectors of pixels (…,2), which are given as column and row.
  [[nodiscard]] Expression encoded_pixels(Call& call, const char* argument) const {
    Builder& b = call.builder();
    const Expression pixels(b, call.tensor(argument)->id);
    Tensor sizes(pixels.dtype(), {2});
    sizes.set(0, static_cast<double>(input_image_size.items[1]));
    sizes.set(1, static_cast<double>(input_image_size.items[0]));
    return encoded(call, (pixels + 0.5) / Expression(b, b.constant(std::move(sizes))));
  }
  /// Returns the row (1,D) of an embedding in the dtype of `like`.
  [[nodiscard]] static Expression row(Call& call, Layer& embedding, DType dtype) {
    Builder& b = call.builder();
    const ValueId first = b.apply(graph::Fill{{1}, DType::int32, 0.0}, {});
    return Expression(b, apply(call, embedding, {Call::result(first)})->id).cast(dtype);
  }

  [[nodiscard]] ValueId points(Call& call) const {
    Builder& b = call.builder();
    const Expression x = encoded_pixels(call, "points");
    const Expression labels(b, b.expand_dims(call.tensor("labels")->id, -1));
    const auto of = [&](Layer* embedding) { return row(call, *embedding, x.dtype()); };
    const Expression shown = where(labels == 0.0, x + of(background_), x + of(foreground_));
    return where(labels == -1.0, of(no_point_), shown);
  }
  [[nodiscard]] ValueId boxes(Call& call) const {
    Builder& b = call.builder();
    const Expression x = encoded_pixels(call, "boxes");
    const Expression corners = joined(b, 0, {row(call, *top_left_, x.dtype()), row(call, *bottom_right_, x.dtype())});
    const Shape shape = x.shape();
    return b.reshape(x + corners, {shape[0], times(shape[1], 2), hidden_size});
  }
  /// Returns the vectors of masks; without a mask, a trained one.
  [[nodiscard]] ValueId masks(Call& call) const {
    Builder& b = call.builder();
    const Shape shape = call.shape("masks");
    const Dim rows = image_embedding_size.items[0], columns = image_embedding_size.items[1];
    const ValueId given = call.tensor("masks")->id;
    const DType dtype = b.dtype(given);
    const ValueId none = row(call, *no_mask_, dtype);
    if (shape[1] == 0 && !call.lowering().symbolic())
      return b.apply(graph::Broadcast{{call.shape("points")[0], rows, columns, hidden_size}}, {none});
    ValueId x = call.lowering().symbolic() ? b.apply(graph::Fill{{kUnknown, 4 * rows, 4 * columns, 1}, dtype, 0.0}, {})
                                           : b.reshape(given, {shape[0] * shape[1], shape[2], shape[3], shape[4]});
    for (std::size_t i = 0; i < downscaler_.size(); ++i) {
      x = apply(call, *downscaler_[i], {Call::result(x)})->id;
      if (i % 2 == 1) x = activation.apply(b, x);
    }
    return x;
  }

  Positive hidden_size = 256, mask_in_channels = 16;
  Window image_embedding_size{{64, 64}}, input_image_size{{1024, 1024}};
  Activation activation = *Activation::named("gelu");
  Layer* foreground_ = nullptr;
  Layer* background_ = nullptr;
  Layer* top_left_ = nullptr;
  Layer* bottom_right_ = nullptr;
  Layer* no_point_ = nullptr;
  Layer* no_mask_ = nullptr;
  std::vector<Layer*> downscaler_;
};

/// The vectors of an image and of prompts → masks and an estimate of how good each is. Tokens and cells attend to each
/// other.
class SAMMaskDecoder final : public NamedParts {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_layers", num_layers);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("embedding_dim", embedding_dim);
    f("num_multimask_outputs", num_multimask_outputs);
    f("iou_head_depth", iou_head_depth);
    f("iou_head_hidden_dim", iou_head_hidden_dim);
    f("activation", activation);
  }
  void check(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    check_blocks(config, "num_multimask_outputs", num_multimask_outputs);
    check_blocks(config, "iou_head_depth", iou_head_depth);
    check_heads(config, "num_heads", hidden_size, num_heads);
    if (hidden_size / num_heads < kDownsampling) config["num_heads"].fail("expected two or more features in a head");
    if (embedding_dim < 8) config["embedding_dim"].fail("expected 8 or more");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"image_embeddings", "prompt_dense_positional_embeddings",
                                                               "prompt_sparse_embeddings", "prompt_dense_embeddings"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    inside("TwoWayTransformer", "transformer", [&] {
      for (std::int64_t i = 0; i < num_layers; ++i)
        inside("TwoWayMultiHeadAttention",
               "layers/two_way_multi_head_attention" + (i == 0 ? "" : fmt::format("_{}", i)), [&] { make_block(); });
      final_attention_ = make_attention("final_attention_token_to_image", kDownsampling);
      final_norm_ = &make_part("LayerNormalization", "final_layer_norm", {{"epsilon", kEpsilon}});
    });
    const auto embedding = [&](const char* attribute, std::int64_t rows) {
      return &make_part("Embedding", attribute, {{"input_dim", rows}, {"output_dim", embedding_dim.value}});
    };
    iou_token_ = embedding("iou_token", 1);
    mask_tokens_ = embedding("mask_tokens", masks());
    inside("Sequential", "output_upscaling", [&] {
      const auto twice = [&](const char* attribute, std::int64_t filters) {
        return &make_part("Conv2DTranspose", attribute, {{"filters", filters}, {"kernel_size", 2}, {"strides", 2}});
      };
      upscaling_1_ = twice("layers/conv2d_transpose", embedding_dim / 4);
      upscaling_norm_ = &make_part("LayerNormalization", "layers/layer_normalization", {{"epsilon", 1e-6}});
      upscaling_2_ = twice("layers/conv2d_transpose_1", embedding_dim / 8);
    });
    for (std::int64_t i = 0; i < masks(); ++i)
      mask_heads_.push_back(make_dense("output_hypernetworks_mlps/mlp" + (i == 0 ? "" : fmt::format("_{}", i)),
                                       embedding_dim, embedding_dim / 8, 3));
    iou_head_ = make_dense("iou_prediction_head", iou_head_hidden_dim, masks(), iou_head_depth);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const auto of = [&](const char* argument) { return Expression(b, call.tensor(argument)->id); };
    const Expression prompts = of("prompt_sparse_embeddings"), image = of("image_embeddings");
    const Dim rows = image.shape()[1], columns = image.shape()[2], of_masks = call.shape("prompt_dense_embeddings")[0];
    const Dim cells = rows == kUnknown || columns == kUnknown ? kUnknown : rows * columns;
    const auto lookup = [&](Layer& table, std::int64_t count) {
      return apply(call, table, {Call::result(b.apply(graph::Iota{{count}, DType::int32, 0}, {}))})->id;
    };
    const ValueId trained = b.expand_dims(joined(b, 0, {lookup(*iou_token_, 1), lookup(*mask_tokens_, masks())}), 0);
    ValueId tokens = behind_rows(b, trained, prompts);
    Dim batch = prompts.shape()[0];
    if (batch == 1 && of_masks > 1) {  // several masks of one image
      batch = of_masks;
      tokens = b.apply(graph::Broadcast{{batch, b.shape(tokens)[1], b.shape(tokens)[2]}}, {tokens});
    }
    const auto flat = [&](const Expression& x) {
      const Shape shape = x.shape();
      return b.apply(graph::Broadcast{{batch, cells, shape[3]}}, {b.reshape(x, {shape[0], cells, shape[3]})});
    };
    const Sides in{tokens, flat(image + of("prompt_dense_embeddings")), flat(of("prompt_dense_positional_embeddings"))};
    Sides x = in;
    for (std::size_t i = 0; i < blocks_.size(); ++i) two_way(call, blocks_[i], i == 0, in, x);
    const Expression queries(b, x.tokens);
    const Expression seen(b, attended(call, final_attention_, queries + Expression(b, in.tokens),
                                      Expression(b, x.cells) + Expression(b, in.places), x.cells));
    const ValueId hidden = apply(call, *final_norm_, {Call::result(queries + seen)})->id;

    const ValueId wide = b.reshape(x.cells, {batch, rows, columns, b.shape(x.cells)[2]});
    const ValueId larger = apply(call, *upscaling_norm_, {apply(call, *upscaling_1_, {Call::result(wide)})})->id;
    const ValueId largest = apply(call, *upscaling_2_, {Call::result(activation.apply(b, larger))})->id;
    const ValueId pixels = activation.apply(b, largest);
    const Shape shape = b.shape(pixels);
    std::vector<ValueId> heads;
    for (std::int64_t i = 0; i < masks(); ++i)
      heads.push_back(through(call, mask_heads_[static_cast<std::size_t>(i)], rows_between(b, hidden, 1 + i, 2 + i)));
    const ValueId products =
        b.apply(graph::MatMul{false, true}, {joined(b, 1, std::move(heads)), rows_of_cells(b, pixels)});
    const ValueId quality = through(call, iou_head_, rows_between(b, hidden, 0, 1));
    return ArgDict{{"masks", Call::result(b.reshape(products, {batch, masks(), shape[1], shape[2]}))},
                   {"iou_pred", Call::result(b.reshape(quality, {batch, masks()}))}};
  }

 private:
  static constexpr std::int64_t kDownsampling = 2;
  static constexpr double kEpsilon = 1e-5;

  struct Attention {
    Layer* query = nullptr;
    Layer* key = nullptr;
    Layer* value = nullptr;
    Layer* output = nullptr;
  };
  struct Block {
    Attention self, to_image, to_tokens;
    std::array<Layer*, 4> norms{};
    std::vector<Layer*> dense;
  };
  /// Tokens (B,K,D), and cells and their places (B,H·W,D).
  struct Sides {
    ValueId tokens, cells, places;
  };

  [[nodiscard]] std::int64_t masks() const { return num_multimask_outputs + 1; }

  Attention make_attention(const char* attribute, std::int64_t downsampling) {
    Attention out;
    inside("MultiHeadAttentionWithDownsampling", attribute, [&] {
      const std::int64_t width = hidden_size / num_heads / downsampling * num_heads;
      out.query = &make_part("Dense", "query_proj", {{"units", width}});
      out.key = &make_part("Dense", "key_proj", {{"units", width}});
      out.value = &make_part("Dense", "value_proj", {{"units", width}});
      out.output = &make_part("Dense", "out_proj", {{"units", hidden_size.value}});
    });
    return out;
  }
  /// Makes `depth` dense layers with relu between them.
  std::vector<Layer*> make_dense(const std::string& attribute, std::int64_t width, std::int64_t units,
                                 std::int64_t depth) {
    std::vector<Layer*> out;
    inside("MLP", attribute, [&] {
      inside("Sequential", "mlp_block", [&] {
        for (std::int64_t i = 0; i < depth; ++i)
          out.push_back(&make_part(
              "Dense", "layers/dense" + (i == 0 ? "" : fmt::format("_{}", i)),
              {{"units", i + 1 < depth ? width : units}, {"activation", i + 1 < depth ? "relu" : "linear"}}));
      });
    });
    return out;
  }
  void make_block() {
    Block block;
    const auto norm = [&](const char* attribute) {
      return &make_part("LayerNormalization", attribute, {{"epsilon", kEpsilon}});
    };
    block.self = make_attention("self_attention", 1);
    block.norms[0] = norm("layer_norm1");
    block.to_image = make_attention("cross_attention_token_to_image", kDownsampling);
    block.norms[1] = norm("layer_norm2");
    block.dense = make_dense("mlp_block", intermediate_dim, hidden_size, 2);
    block.norms[2] = norm("layer_norm3");
    block.to_tokens = make_attention("cross_attention_image_to_token", kDownsampling);
    block.norms[3] = norm("layer_norm4");
    blocks_.push_back(std::move(block));
  }

  static ValueId through(Call& call, const std::vector<Layer*>& layers, ValueId x) {
    for (Layer* layer : layers) x = apply(call, *layer, {Call::result(x)})->id;
    return x;
  }
  [[nodiscard]] ValueId attended(Call& call, const Attention& by, ValueId query, ValueId key, ValueId value) const {
    Builder& b = call.builder();
    const auto heads = [&](Layer& dense, ValueId x) {
      const ValueId wide = apply(call, dense, {Call::result(x)})->id;
      const Shape shape = b.shape(wide);
      return b.reshape(wide, {shape[0], shape[1], num_heads, shape[2] / num_heads});
    };
    const ValueId q = heads(*by.query, query), k = heads(*by.key, key);
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(b.shape(q)[3]));
    const ValueId rows = attended_heads(call, q, k, heads(*by.value, value), how);
    return apply(call, *by.output, {Call::result(rows)})->id;
  }
  /// Applies a block to x. `in` are the values before the first block, which serve as places.
  void two_way(Call& call, const Block& block, bool first, const Sides& in, Sides& x) const {
    Builder& b = call.builder();
    const Expression token_places(b, in.tokens), cell_places(b, in.places);
    const auto placed = [&] { return Expression(b, x.tokens) + token_places; };
    const auto normal = [&](std::size_t which, ValueId y) {
      return apply(call, *block.norms[which], {Call::result(y)})->id;
    };
    const auto sum = [&](ValueId y, ValueId z) { return b.binary(graph::BinaryFn::add, y, z); };
    if (first) {
      x.tokens = attended(call, block.self, x.tokens, x.tokens, x.tokens);
    } else {
      x.tokens = sum(x.tokens, attended(call, block.self, placed(), placed(), x.tokens));
    }
    x.tokens = normal(0, x.tokens);
    const ValueId placed_cells = Expression(b, x.cells) + cell_places;
    x.tokens = normal(1, sum(x.tokens, attended(call, block.to_image, placed(), placed_cells, x.cells)));
    x.tokens = normal(2, sum(x.tokens, through(call, block.dense, x.tokens)));
    x.cells = normal(3, sum(x.cells, attended(call, block.to_tokens, placed_cells, placed(), x.tokens)));
  }

  Positive hidden_size, num_layers, intermediate_dim, num_heads, embedding_dim = 256, num_multimask_outputs = 3,
                                                                 iou_head_depth = 3, iou_head_hidden_dim = 256;
  Activation activation = *Activation::named("gelu");
  std::vector<Block> blocks_;
  Attention final_attention_;
  Layer* final_norm_ = nullptr;
  Layer* iou_token_ = nullptr;
  Layer* mask_tokens_ = nullptr;
  Layer* upscaling_1_ = nullptr;
  Layer* upscaling_norm_ = nullptr;
  Layer* upscaling_2_ = nullptr;
  std::vector<std::vector<Layer*>> mask_heads_;
  std::vector<Layer*> iou_head_;
};

class SAMBackbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("image_encoder", image_encoder_);
    f.required("prompt_encoder", prompt_encoder_);
    f.required("mask_decoder", mask_decoder_);
  }
  /// Only the task calls the mask decoder; then the backbone has its variables.
  [[nodiscard]] std::vector<Sublayer> sublayers() override {
    std::vector<Sublayer> out = Backbone::sublayers();
    if (mask_decoder_->built) out.push_back({mask_decoder_.get(), mask_decoder_->name + "/", "mask_decoder/"});
    return out;
  }
  [[nodiscard]] Layer& mask_decoder() const { return *mask_decoder_; }

 protected:
  void check_fields(const Ref& config) override {
    if (dynamic_cast<ViTDetBackbone*>(image_encoder_.get()) == nullptr)
      config["image_encoder"].fail("expected a ViTDetBackbone");
    if (dynamic_cast<SAMPromptEncoder*>(prompt_encoder_.get()) == nullptr)
      config["prompt_encoder"].fail("expected a SAMPromptEncoder");
    if (dynamic_cast<SAMMaskDecoder*>(mask_decoder_.get()) == nullptr)
      config["mask_decoder"].fail("expected a SAMMaskDecoder");
  }

  void assemble() override {
    auto& encoder = dynamic_cast<ViTDetBackbone&>(*image_encoder_);
    AutomaticNames names = encoder.names;
    dynamic_cast<NamedParts&>(*prompt_encoder_).count_from(names);
    for (int i = 0; i < 3; ++i) names("Conv2D");
    for (int i = 0; i < 2; ++i) names("LayerNormalization");
    dynamic_cast<NamedParts&>(*mask_decoder_).count_from(names);

    for (Layer* member : encoder.members()) borrow(*member);
    const TensorRef images = *encoder.input_struct.as<TensorRef>();
    ArgDict inputs{{"images", images}};
    const auto add_input = [&](const char* called, Shape shape) {
      inputs.emplace_back(called, input(called, std::move(shape), DType::float32));
    };
    add_input("points", {kUnknown, kUnknown, 2});
    add_input("labels", {kUnknown, kUnknown});
    add_input("boxes", {kUnknown, kUnknown, 2, 2});
    add_input("masks", {kUnknown, kUnknown, kUnknown, kUnknown, 1});
    borrow(*prompt_encoder_);
    const TensorRef prompts = call(*prompt_encoder_, {}, inputs);
    const auto result = [&](int index) { return TensorRef{prompts.layer, prompts.node, index}; };
    input_struct = inputs;
    output_struct = ArgDict{{"image_embeddings", encoder.output_struct},
                            {"prompt_dense_embeddings", result(0)},
                            {"prompt_dense_positional_embeddings", result(1)},
                            {"prompt_sparse_embeddings", result(2)}};
  }

 private:
  LayerPtr image_encoder_, prompt_encoder_, mask_decoder_;
};

class SAMImageSegmenter final : public Task {
 protected:
  [[nodiscard]] std::string_view kind() const override { return "ImageSegmenter"; }
  void assemble() override {
    ArgDict inputs;
    for (const char* key : {"image_embeddings", "prompt_dense_embeddings", "prompt_dense_positional_embeddings",
                            "prompt_sparse_embeddings"})
      inputs.emplace_back(key, backbone_result(key));
    Layer& decoder = dynamic_cast<SAMBackbone&>(backbone()).mask_decoder();
    borrow(decoder);
    const TensorRef quality = call(decoder, {}, inputs);
    output_struct = ArgDict{{"iou_pred", quality}, {"masks", TensorRef{quality.layer, quality.node, 1}}};
  }
};

constexpr std::array kLayers = {
    ClassInfo{.name = "SAMPromptEncoder",
              .make = make_layer<SAMPromptEncoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.sam.sam_prompt_encoder",
              .role = Role::embedding,
              .package = "keras_hub",
              .symbols = "random_frequency_positional_embeddings: - d_model"},
    ClassInfo{.name = "SAMMaskDecoder",
              .make = make_layer<SAMMaskDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.sam.sam_mask_decoder",
              .role = Role::transformer,
              .package = "keras_hub"},
};

constexpr std::array kModels = {
    model_record<SAMBackbone>("SAMBackbone", "keras_hub.src.models.sam.sam_backbone"),
    model_record<SAMImageSegmenter>("SAMImageSegmenter", "keras_hub.src.models.sam.sam_image_segmenter"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "sam", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::sam
