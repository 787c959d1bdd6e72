// The Swin transformer, whose attention is inside of windows (keras_hub/src/models/swin_transformer).
//
// Letters: B batch, H height, W width, D features, N heads, V windows of an image, T cells of a window.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "config/bounds.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/images/windows.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"
#include "model/tasks/image_classifier.h"

namespace attn::keras::swin_transformer {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.swin_transformer.swin_transformer_layers";
constexpr double kEpsilon = 1e-5;

/// (B,H,W,C) → (B,H·W,D).
class PatchEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f("patch_size", patch_size);
    f("embed_dim", embed_dim);
    f("normalized", normalized);
  }
  void build(Weights&, Call&) override {
    proj_ = &make("Conv2D", "conv_projection", "proj",
                  {{"filters", embed_dim.value},
                   {"kernel_size", patch_size.value},
                   {"strides", patch_size.value},
                   {"kernel_initializer", "lecun_normal"}});
    if (normalized) norm_ = &make("LayerNormalization", "norm", "norm", {{"epsilon", kEpsilon}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const ValueId cells = apply(call, *proj_, {call.tensor("inputs")})->id;
    const TensorPtr rows = Call::result(rows_of_cells(call.builder(), cells));
    return norm_ == nullptr ? rows : apply(call, *norm_, {rows});
  }

 private:
  Positive patch_size = 4, embed_dim = 96;
  bool normalized = false;  // KerasHub's argument norm_layer is a class
  Layer* proj_ = nullptr;
  Layer* norm_ = nullptr;
};

/// The attention inside of windows, with a trained bias for each distance of two cells.
class WindowAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("dim", dim);
    f.required("num_heads", num_heads);
    f("window_size", window_size);
    f("qkv_bias", qkv_bias);
    f("attention_dropout", attention_dropout);
    f("proj_drop", proj_drop);
  }
  void check(const Ref& config) override { check_heads(config, "num_heads", dim, num_heads); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "regions"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, dim / num_heads}; }

  void build(Weights& w, Call&) override {
    const std::int64_t distances = 2 * window_size - 1;
    w.add("relative_position_bias_table", {distances * distances, num_heads}, normal_numbers("truncated_normal", 0.02));
    qkv_ = &make("Dense", "attention_qkv", "qkv", {{"units", 3 * dim}, {"use_bias", qkv_bias}});
    proj_ = &make("Dense", "attention_projection", "proj", {{"units", dim.value}});
    proj_drop_ = &make("Dropout", "proj_drop", "proj_drop", {{"rate", proj_drop.value}});
  }

  /// `regions` are the numbers (V,T) of the regions to which the cells belong; cells of different ones do not attend to
  /// each other.
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId qkv = apply(call, *qkv_, {call.tensor("x")})->id;
    const Shape shape = b.shape(qkv);
    const ValueId heads = b.reshape(qkv, {shape[0], shape[1], 3, num_heads, dim / num_heads});
    const auto part = [&](std::int64_t which) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {which, which + 1, 1}, {}, {}};
      return b.reshape(b.apply(slice, {heads}), {shape[0], shape[1], num_heads, dim / num_heads});
    };
    AttentionOptions how;
    const Dim per_head = dim / num_heads;
    how.scale = 1.0 / std::sqrt(static_cast<double>(per_head));
    if (!call.lowering().symbolic()) how.bias = bias(call, shape[0]);
    const ValueId query = part(0), key = part(1);
    const ValueId joined = attended_heads(call, query, key, part(2), how, attention_dropout);
    return apply(call, *proj_drop_, {apply(call, *proj_, {Call::result(joined)})});
  }

 private:
  [[nodiscard]] ValueId bias(Call& call, Dim windows) const {
    Builder& b = call.builder();
    const Dim side = window_size, cells = side * side;
    const auto make_rows = [&] {
      Tensor out = table(DType::int32, {cells, cells}, "the distances of cells");
      for (Dim t = 0; t < cells; ++t)
        for (Dim s = 0; s < cells; ++s) {
          const Dim down = t / side - s / side + side - 1, right = t % side - s % side + side - 1;
          out.set(t * cells + s, static_cast<double>(down * (2 * side - 1) + right));
        }
      return std::vector{b.constant(std::move(out))};
    };
    const ValueId rows =
        call.lowering().common(fmt::format("the distances of cells in windows of {}", side), make_rows)[0];
    const ValueId of_pairs = b.apply(graph::Gather{0}, {call.weight(0), rows});      // (T,T,N)
    const Expression biases(b, b.expand_dims(b.transpose(of_pairs, {2, 0, 1}), 0));  // (1,N,T,T)
    if (!call.has("regions")) return biases;
    const Expression regions(b, call.tensor("regions")->id);
    const Dim each = regions.shape()[0];
    const Expression hidden = {
        b, b.binary(graph::BinaryFn::not_equal, b.expand_dims(regions, 1), b.expand_dims(regions, 2))};
    const Expression masks = hidden.cast(biases.dtype()) * -100.0;  // (V,T,T)
    const Expression sums = biases + Expression(b, b.expand_dims(masks, 1));
    const ValueId repeated = b.apply(graph::Broadcast{{windows / each, each, num_heads, cells, cells}}, {sums});
    return b.reshape(repeated, {windows, num_heads, cells, cells});
  }

  Positive dim, num_heads, window_size = 7;
  bool qkv_bias = true;
  Number attention_dropout, proj_drop;
  Layer* qkv_ = nullptr;
  Layer* proj_ = nullptr;
  Layer* proj_drop_ = nullptr;
};

/// The constructor arguments that a block and a stage have in common.
struct Options {
  Positive dim, num_heads, window_size = 7;
  Window input_resolution{{1, 1}};
  Number mlp_ratio = 4.0, dropout_rate = 0.0, attention_dropout = 0.0;
  bool qkv_bias = true;

  void fields(Fields& f) {
    f.required("dim", dim);
    f.required("num_heads", num_heads);
    f("window_size", window_size);
    f("mlp_ratio", mlp_ratio);
    f("qkv_bias", qkv_bias);
    f("dropout_rate", dropout_rate);
    f("attention_dropout", attention_dropout);
    f.required("input_resolution", input_resolution);
  }
  [[nodiscard]] Dim height() const { return input_resolution.items[0]; }
  [[nodiscard]] Dim width() const { return input_resolution.items[1]; }
};

class SwinTransformerBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    options.fields(f);
    f("shift_size", shift_size);
    f("drop_path", drop_path);
  }
  void check(const Ref& config) override {
    const Dim least = std::min(options.height(), options.width());
    // KerasHub's attention keeps the window's size even if the block's window is smaller, and then fails.
    if (least < options.window_size)
      config["window_size"].fail(fmt::format("the windows of {} are larger than the {} by {} cells of a stage",
                                             options.window_size.value, options.height(), options.width()));
    if (least == options.window_size) shift_size = 0;
    if (shift_size < 0 || shift_size >= options.window_size) config["shift_size"].fail("expected less than a window");
  }

  void build(Weights&, Call&) override {
    const auto norm = [&](const char* called) {
      return &make("LayerNormalization", called, called, {{"epsilon", kEpsilon}});
    };
    const std::int64_t dim = options.dim;
    norm_1_ = norm("norm1");
    attention_ = &make("WindowAttention", "attn", "attn",
                       {{"dim", dim},
                        {"num_heads", options.num_heads.value},
                        {"window_size", options.window_size.value},
                        {"qkv_bias", options.qkv_bias},
                        {"attention_dropout", options.attention_dropout.value},
                        {"proj_drop", options.dropout_rate.value}});
    drop_path_ = &make("Dropout", "drop_path", "drop_path", keras::drop_path(drop_path));
    norm_2_ = norm("norm2");
    const std::int64_t wide = scaled_size(dim, options.mlp_ratio);
    fc1_ = &make("Dense", "mlp/fc1", "mlp/fc1", {{"units", wide}, {"activation", "gelu"}});
    fc2_ = &make("Dense", "mlp/fc2", "mlp/fc2", {{"units", dim}});
    dropout_ = &make("Dropout", "mlp/dropout", "mlp/dropout", {{"rate", options.dropout_rate.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr in = call.tensor("inputs");
    const Dim height = options.height(), width = options.width(), side = options.window_size;
    const Shape shape = b.shape(in->id);
    if (shape.rank() != 3 || shape[1] != height * width || shape[2] != options.dim)
      throw bad_input("expected an input (batch, {}, {}), got {}", height * width, options.dim.value, shape.str());
    const ValueId image = b.reshape(apply(call, *norm_1_, {in})->id, {shape[0], height, width, options.dim});
    const WindowGrid grid{height, width, side};
    const ValueId windows = grid.windows_of(b, rolled(b, image, shift_size));
    ArgDict regions;
    if (shift_size > 0 && !call.lowering().symbolic())
      regions.emplace_back("regions", Call::result(region_numbers(call, grid)));
    const ValueId cells = b.reshape(windows, {b.shape(windows)[0], side * side, options.dim});
    const TensorPtr attended = apply(call, *attention_, {Call::result(cells)}, regions);
    const ValueId joined =
        grid.filled_image_of(b, b.reshape(attended->id, {b.shape(windows)[0], side, side, options.dim}));
    // KerasHub moves the zeros that fill up the last windows too.
    const ValueId rows = rows_of_cells(b, grid.cropped(b, rolled(b, joined, -shift_size)));
    const TensorPtr x = sum(call, in, apply(call, *drop_path_, {Call::result(rows)}));
    TensorPtr fed = apply(call, *norm_2_, {x});
    for (Layer* part : {fc1_, dropout_, fc2_, dropout_}) fed = apply(call, *part, {fed});
    return sum(call, x, apply(call, *drop_path_, {fed}));
  }

 private:
  /// Moves rows and columns of images (B,H,W,D) up and left by `shift`; those that leave come back at the other end.
  static ValueId rolled(Builder& b, ValueId x, std::int64_t shift) {
    if (shift == 0) return x;
    for (const int axis : {1, 2}) {
      graph::Slice first, second;
      first.ranges.resize(4);
      second.ranges.resize(4);
      first.ranges[static_cast<std::size_t>(axis)] = {shift, std::nullopt, 1};
      second.ranges[static_cast<std::size_t>(axis)] = {std::nullopt, shift, 1};
      const ValueId begin = b.apply(first, {x}), end = b.apply(second, {x});
      x = b.apply(graph::Concat{axis}, {begin, end});
    }
    return x;
  }

  /// Returns the regions (V,T) of the cells after the move. Each side of an image has three: what does not share a
  /// window with moved cells, what does, and the moved cells. The cells that fill up the last windows count as the
  /// first region.
  [[nodiscard]] ValueId region_numbers(Call& call, const WindowGrid& grid) const {
    const auto of_side = [&](Dim at, Dim size) {
      return at < size - options.window_size ? 0 : at < size - shift_size ? 1 : 2;
    };
    const auto make = [&] {
      Tensor out = table(DType::int32, {grid.count(), grid.side * grid.side}, "the regions of cells");
      for (Dim i = 0; i < out.shape().elements().value_or(0); ++i) {
        const auto [row, column] = grid.cell(i);
        if (row < grid.height && column < grid.width)
          out.set(i, of_side(row, grid.height) * 3 + of_side(column, grid.width));
      }
      return std::vector{call.builder().constant(std::move(out))};
    };
    return call.lowering().common(fmt::format("regions of {} by {} cells in windows of {} moved by {}", grid.height,
                                              grid.width, grid.side, shift_size),
                                  make)[0];
  }

  Options options;
  std::int64_t shift_size = 0;
  Number drop_path = 0.0;
  Layer* norm_1_ = nullptr;
  Layer* attention_ = nullptr;
  Layer* drop_path_ = nullptr;
  Layer* norm_2_ = nullptr;
  Layer* fc1_ = nullptr;
  Layer* fc2_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// Blocks; every second one moves its windows by half their size. All stages but the last join four cells to one.
class SwinTransformerStage final : public Composite {
 public:
  void fields(Fields& f) override {
    options.fields(f);
    f.required("depth", depth);
    f("drop_path", drop_path);
    f("downsample", downsample);
  }
  void check(const Ref& config) override { check_blocks(config, "depth", depth); }

  void build(Weights&, Call&) override {
    Json block = arguments_of(options);
    block["input_resolution"] = options.input_resolution.items;
    for (std::int64_t i = 0; i < depth; ++i) {
      block["shift_size"] = i % 2 == 0 ? 0 : options.window_size / 2;
      block["drop_path"] =
          static_cast<std::size_t>(i) < drop_path.size() ? drop_path[static_cast<std::size_t>(i)] : 0.0;
      blocks_.push_back(&make("SwinTransformerBlock", fmt::format("blocks_{}", i),
                              "blocks/swin_transformer_block" + (i == 0 ? "" : fmt::format("_{}", i)), block));
    }
    if (!downsample) return;
    reduction_ = &make("Dense", "downsample/reduction", "downsample/reduction",
                       {{"units", 2 * options.dim}, {"use_bias", false}});
    norm_ = &make("LayerNormalization", "downsample/norm", "downsample/norm", {{"epsilon", kEpsilon}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    TensorPtr x = call.tensor("inputs");
    for (Layer* block : blocks_) x = apply(call, *block, {x});
    return downsample ? joined_cells(call, x) : x;
  }

 private:
  [[nodiscard]] TensorPtr joined_cells(Call& call, const TensorPtr& x) {
    Builder& b = call.builder();
    const Dim height = options.height(), width = options.width();
    ValueId image = b.reshape(x->id, {call.shape(x)[0], height, width, options.dim});
    if (height % 2 != 0 || width % 2 != 0)
      image = b.apply(graph::Pad{graph::PadMode::constant, {0, 0, 0, 0}, {0, height % 2, width % 2, 0}}, {image});
    std::vector<ValueId> quarters;
    for (const auto& [row, column] : {std::pair(0, 0), {1, 0}, {0, 1}, {1, 1}}) {
      graph::Slice slice;
      slice.ranges = {{}, {row, std::nullopt, 2}, {column, std::nullopt, 2}, {}};
      quarters.push_back(b.apply(slice, {image}));
    }
    const ValueId cells = b.apply(graph::Concat{3}, quarters);
    const TensorPtr normal = apply(call, *norm_, {Call::result(cells)});
    return Call::result(rows_of_cells(b, apply(call, *reduction_, {normal})->id));
  }

  Options options;
  Positive depth;
  std::vector<double> drop_path;
  bool downsample = false;  // KerasHub's argument is a class
  std::vector<Layer*> blocks_;
  Layer* reduction_ = nullptr;
  Layer* norm_ = nullptr;
};

class SwinTransformerBackbone final : public ImageBackbone {
 public:
  void fields(Fields& f) override {
    f.required("image_shape", image_shape);
    f("patch_size", patch_size);
    f.required("embed_dim", embed_dim);
    f.required("depths", depths);
    f.required("num_heads", num_heads);
    f.required("window_size", options.window_size);
    f("mlp_ratio", options.mlp_ratio);
    f("qkv_bias", options.qkv_bias);
    f("dropout_rate", options.dropout_rate);
    f("attention_dropout", options.attention_dropout);
    f("drop_path", drop_path);
    f("patch_norm", patch_norm);
    f("data_format", data_format);
  }

 protected:
  void check_fields(const Ref& config) override {
    if (depths.empty() || num_heads.size() < depths.size() || depths.size() > 16)
      config["num_heads"].fail("expected a number of heads for each stage, and at most 16 stages");
    for (const Positive depth : depths) check_blocks(config, "depths", depth);
    for (const auto& [key, rate] : {std::pair("dropout_rate", options.dropout_rate),
                                    {"attention_dropout", options.attention_dropout},
                                    {"drop_path", drop_path}})
      check_rate(config, key, rate);
    checked_patches(config, "patch_size", height() / patch_size, width() / patch_size);
    if (options.mlp_ratio <= 0.0 || options.mlp_ratio > 1000.0) config["mlp_ratio"].fail("expected a number above 0");
  }

  void assemble() override {
    const TensorRef image = images("input_layer");
    TensorRef x =
        call("PatchEmbedding", "patch_embedding",
             {{"patch_size", patch_size.value}, {"embed_dim", embed_dim.value}, {"normalized", patch_norm}}, {image});
    x = call("Dropout", "pos_drop", {{"rate", options.dropout_rate.value}}, {x});
    std::int64_t blocks = 0, block = 0;
    for (const Positive depth : depths) blocks += depth;
    Dim rows = height() / patch_size, columns = width() / patch_size;
    for (std::size_t i = 0; i < depths.size(); ++i) {
      options.dim = embed_dim << i;
      options.num_heads = num_heads[i];
      options.input_resolution = {{rows, columns}};
      Json stage = arguments_of(options), rates = Json::array();
      for (std::int64_t k = 0; k < depths[i]; ++k, ++block)
        rates.push_back(blocks < 2 ? 0.0 : drop_path * static_cast<double>(block) / static_cast<double>(blocks - 1));
      stage["input_resolution"] = options.input_resolution.items;
      stage["depth"] = depths[i].value;
      stage["drop_path"] = std::move(rates);
      stage["downsample"] = i + 1 < depths.size();
      x = call("SwinTransformerStage", fmt::format("stage_{}", i), std::move(stage), {x});
      rows /= 2;
      columns /= 2;
    }
    input_struct = image;
    output_struct = call("LayerNormalization", "norm", {{"epsilon", kEpsilon}}, {x});
  }

 private:
  Positive patch_size = 4, embed_dim;
  std::vector<Positive> depths, num_heads;
  Options options;
  Number drop_path = 0.1;
  bool patch_norm = true;
  Choice data_format{"channels_last", {"channels_last"}};
};

constexpr std::array kLayers = {
    layer_record("PatchEmbedding", make_layer<PatchEmbedding>, kModule, Role::embedding),
    layer_record("WindowAttention", make_layer<WindowAttention>, kModule, Role::attention,
                 "relative_position_bias_table: - h"),
    layer_record("SwinTransformerBlock", make_layer<SwinTransformerBlock>, kModule, Role::transformer),
    layer_record("SwinTransformerStage", make_layer<SwinTransformerStage>, kModule, Role::transformer),
};

constexpr std::array kModels = {
    model_record<SwinTransformerBackbone>("SwinTransformerBackbone",
                                          "keras_hub.src.models.swin_transformer.swin_transformer_backbone"),
    model_record<ImageClassifier, ImageHead::mean>(
        "SwinTransformerImageClassifier", "keras_hub.src.models.swin_transformer.swin_transformer_image_classifier"),
};

void sizes(ConfigMap& map) {
  map.square("image_shape", "image_size", 224);
  map.fixed("num_channels", {3});
  map.same("patch_size", "patch_size", 4);
  map.same("embed_dim", "embed_dim", 96);
  map.same("depths", "depths");
  map.same("num_heads", "num_heads");
  map.same("window_size", "window_size", 7);
  map.same("mlp_ratio", "mlp_ratio", 4.0);
  map.same("qkv_bias", "qkv_bias", true);
  map.same("dropout_rate", "hidden_dropout_prob", 0.0);
  map.same("attention_dropout", "attention_probs_dropout_prob", 0.0);
  map.same("drop_path", "drop_path_rate", 0.1);
  map.fixed("hidden_act", {"gelu"});
  map.fixed("use_absolute_embeddings", {false});
  map.fixed("layer_norm_eps", {1e-5});
  if (!map.reading() && !map.of_keras("patch_norm").get<bool>())
    throw bad_input("a Swin transformer with patch_norm=False cannot be written as a Hugging Face folder");
}

constexpr std::array kHeads{Head{"ForImageClassification", "ImageClassifier"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{
        .model_type = "swin", .stem = "SwinTransformer", .architecture = "Swin", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 24> kNames{{
    {"patch_embedding/conv_projection/kernel", "embeddings.patch_embeddings.projection.weight", kConvolution},
    {"patch_embedding/conv_projection/bias", "embeddings.patch_embeddings.projection.bias", kSame},
    {"patch_embedding/norm/gamma", "embeddings.norm.weight", kSame},
    {"patch_embedding/norm/beta", "embeddings.norm.bias", kSame},
    {"stage_{}/blocks_{}/norm1/gamma", "encoder.layers.{}.blocks.{}.layernorm_before.weight", kSame},
    {"stage_{}/blocks_{}/norm1/beta", "encoder.layers.{}.blocks.{}.layernorm_before.bias", kSame},
    {"stage_{}/blocks_{}/attn/attention_qkv/kernel",
     "encoder.layers.{}.blocks.{}.attention.self.{query,key,value}.weight", kLinear},
    {"stage_{}/blocks_{}/attn/attention_qkv/bias", "encoder.layers.{}.blocks.{}.attention.self.{query,key,value}.bias",
     kSame},
    {"stage_{}/blocks_{}/attn/relative_position_bias_table",
     "encoder.layers.{}.blocks.{}.attention.self.relative_position_bias_table", kSame},
    {"stage_{}/blocks_{}/attn/attention_projection/kernel", "encoder.layers.{}.blocks.{}.attention.output.dense.weight",
     kLinear},
    {"stage_{}/blocks_{}/attn/attention_projection/bias", "encoder.layers.{}.blocks.{}.attention.output.dense.bias",
     kSame},
    {"stage_{}/blocks_{}/norm2/gamma", "encoder.layers.{}.blocks.{}.layernorm_after.weight", kSame},
    {"stage_{}/blocks_{}/norm2/beta", "encoder.layers.{}.blocks.{}.layernorm_after.bias", kSame},
    {"stage_{}/blocks_{}/mlp/fc1/kernel", "encoder.layers.{}.blocks.{}.intermediate.dense.weight", kLinear},
    {"stage_{}/blocks_{}/mlp/fc1/bias", "encoder.layers.{}.blocks.{}.intermediate.dense.bias", kSame},
    {"stage_{}/blocks_{}/mlp/fc2/kernel", "encoder.layers.{}.blocks.{}.output.dense.weight", kLinear},
    {"stage_{}/blocks_{}/mlp/fc2/bias", "encoder.layers.{}.blocks.{}.output.dense.bias", kSame},
    {"stage_{}/downsample/norm/gamma", "encoder.layers.{}.downsample.norm.weight", kSame},
    {"stage_{}/downsample/norm/beta", "encoder.layers.{}.downsample.norm.bias", kSame},
    {"stage_{}/downsample/reduction/kernel", "encoder.layers.{}.downsample.reduction.weight", kLinear},
    {"norm/gamma", "layernorm.weight", kSame},
    {"norm/beta", "layernorm.bias", kSame},
    {"predictions/kernel", "classifier.weight", kLinear, true},
    {"predictions/bias", "classifier.bias", kSame, true},
}};
constexpr std::array kWeightNames = {
    NameTable{"SwinTransformerBackbone", "swin.", kNames},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "swin_transformer",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames};
  return kFamily;
}

}  // namespace attn::keras::swin_transformer
