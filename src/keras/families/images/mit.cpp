// MiT, the mix transformer, and SegFormer, which segments images with it (keras_hub/src/models/mit and segformer).
//
// KerasHub passes its dtype to none of the layers, which compute in float32.
//
// Letters: B batch, P patches, D width, N heads, H head size.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "classes/reading.h"
#include "families/blocks/automatic_names.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"
#include "model/input_layer.h"
#include "model/tasks/image_classifier.h"
#include "model/tasks/task.h"

namespace attn::keras::mit {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.mit.mit_layers";
constexpr double kEpsilon = 1e-5;

/// (B,H,W,C) → (B,P,D): patches that overlap.
class OverlappingPatchingAndEmbedding final : public NamedParts {
 public:
  static constexpr std::array<std::string_view, 2> kParts = {"Conv2D", "LayerNormalization"};

  void fields(Fields& f) override {
    f("project_dim", project_dim);
    f("patch_size", patch_size);
    f("stride", stride);
    part_names(f);
  }
  void build(Weights&, Call&) override {
    padding_ = &make("ZeroPadding2D", "padding", "padding", {{"padding", patch_size / 2}});
    proj_ = &make_part("Conv2D", "proj",
                       {{"filters", project_dim.value}, {"kernel_size", patch_size.value}, {"strides", stride.value}});
    norm_ = &make_part("LayerNormalization", "norm", {{"epsilon", kEpsilon}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr cells = apply(call, *proj_, {apply(call, *padding_, {call.tensor("inputs")})});
    return apply(call, *norm_, {Call::result(rows_of_cells(call.builder(), cells->id))});
  }

 private:
  Positive project_dim = 32, patch_size = 7, stride = 4;
  Layer* padding_ = nullptr;
  Layer* proj_ = nullptr;
  Layer* norm_ = nullptr;
};

/// Returns rows (B,P,D) as square images (B,√P,√P,D).
ValueId square_of_rows(Builder& b, ValueId x) {
  const Shape shape = b.shape(x);
  const auto side = static_cast<Dim>(std::sqrt(static_cast<double>(shape[1])));
  if (side * side != shape[1]) throw bad_input("{} patches do not form a square image", shape[1]);
  return b.reshape(x, {shape[0], side, side, shape[2]});
}

/// An attention whose keys are those of a smaller image, and dense layers with a convolution between them.
class HierarchicalTransformerEncoder final : public NamedParts {
 public:
  /// Returns the classes of the parts with names, in the order in which KerasHub makes them.
  static std::vector<std::string_view> parts(std::int64_t sr_ratio) {
    std::vector<std::string_view> out = {
        "LayerNormalization", "SegFormerMultiheadAttention", "Dense", "Dense", "Dense", "Dense"};
    if (sr_ratio > 1) out.insert(out.end(), {"Conv2D", "LayerNormalization"});
    out.insert(out.end(), {"LayerNormalization", "MixFFN", "Dense", "DepthwiseConv2D", "Dense"});
    return out;
  }

  void fields(Fields& f) override {
    f.required("project_dim", project_dim);
    f.required("num_heads", num_heads);
    f("sr_ratio", sr_ratio);
    f("drop_prob", drop_prob);
    f("layer_norm_epsilon", layer_norm_epsilon);
    part_names(f);
  }
  void check(const Ref& config) override { check_heads(config, "num_heads", project_dim, num_heads); }

  void build(Weights&, Call&) override {
    const Json epsilon = {{"epsilon", layer_norm_epsilon.value}}, dense = {{"units", project_dim.value}};
    norm_1_ = &make_part("LayerNormalization", "norm1", epsilon);
    inside("SegFormerMultiheadAttention", "attn", [&] {
      q_ = &make_part("Dense", "q", dense);
      k_ = &make_part("Dense", "k", dense);
      v_ = &make_part("Dense", "v", dense);
      proj_ = &make_part("Dense", "proj", dense);
      dropout_ = &make("Dropout", "dropout", "dropout", {{"rate", 0.1}});
      if (sr_ratio > 1) {
        sr_ =
            &make_part("Conv2D", "sr",
                       {{"filters", project_dim.value}, {"kernel_size", sr_ratio.value}, {"strides", sr_ratio.value}});
        norm_ = &make_part("LayerNormalization", "norm", {{"epsilon", kEpsilon}});
      }
    });
    drop_path_ = &make("Dropout", "drop_path", "drop_path", drop_path(drop_prob));
    norm_2_ = &make_part("LayerNormalization", "norm2", epsilon);
    inside("MixFFN", "mlp", [&] {
      fc1_ = &make_part("Dense", "fc1", {{"units", 4 * project_dim}});
      dwconv_ = &make_part("DepthwiseConv2D", "dwconv", {{"kernel_size", 3}, {"padding", "same"}});
      fc2_ = &make_part("Dense", "fc2", dense);
    });
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("inputs");
    if (call.shape(in).rank() != 3 || call.shape(in).back() != project_dim)
      throw bad_input("expected an input (batch, patches, {}), got {}", project_dim.value, call.shape(in).str());
    const TensorPtr x = sum(call, in, apply(call, *drop_path_, {attended(call, apply(call, *norm_1_, {in}))}));
    return sum(call, x, apply(call, *drop_path_, {fed(call, apply(call, *norm_2_, {x}))}));
  }

 private:
  TensorPtr attended(Call& call, const TensorPtr& x) {
    Builder& b = call.builder();
    TensorPtr seen = x;
    if (sr_ != nullptr) {
      const TensorPtr cells = apply(call, *sr_, {Call::result(square_of_rows(b, x->id))});
      seen = apply(call, *norm_, {Call::result(rows_of_cells(b, cells->id))});
    }
    const auto heads = [&](Layer* dense, const TensorPtr& rows) {
      const ValueId wide = apply(call, *dense, {rows})->id;
      const Shape shape = b.shape(wide);
      return b.reshape(wide, {shape[0], shape[1], num_heads, project_dim / num_heads});
    };
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(project_dim / num_heads));
    const ValueId query = heads(q_, x), key = heads(k_, seen);
    const TensorPtr joined = Call::result(attended_heads(call, query, key, heads(v_, seen), how, 0.1));
    return apply(call, *dropout_, {apply(call, *proj_, {joined})});
  }
  TensorPtr fed(Call& call, const TensorPtr& x) {
    Builder& b = call.builder();
    const ValueId image = square_of_rows(b, apply(call, *fc1_, {x})->id);
    const ValueId rows = rows_of_cells(b, apply(call, *dwconv_, {Call::result(image)})->id);
    return apply(call, *fc2_, {Call::result(b.unary(graph::UnaryFn::gelu_tanh, rows))});
  }

  Positive project_dim, num_heads, sr_ratio = 1;
  Number drop_prob = 0.0, layer_norm_epsilon = 1e-6;
  Layer* norm_1_ = nullptr;
  Layer* q_ = nullptr;
  Layer* k_ = nullptr;
  Layer* v_ = nullptr;
  Layer* proj_ = nullptr;
  Layer* dropout_ = nullptr;
  Layer* sr_ = nullptr;
  Layer* norm_ = nullptr;
  Layer* drop_path_ = nullptr;
  Layer* norm_2_ = nullptr;
  Layer* fc1_ = nullptr;
  Layer* dwconv_ = nullptr;
  Layer* fc2_ = nullptr;
};

class MiTBackbone final : public PyramidBackbone {
 public:
  void fields(Fields& f) override {
    f.required("layerwise_depths", layerwise_depths);
    f.required("hidden_dims", hidden_dims);
    f.required("image_shape", image_shape);
    f.required("num_layers", num_layers);
    f.required("layerwise_num_heads", layerwise_num_heads);
    f.required("layerwise_sr_ratios", layerwise_sr_ratios);
    f.required("max_drop_path_rate", max_drop_path_rate);
    f.required("layerwise_patch_sizes", layerwise_patch_sizes);
    f.required("layerwise_strides", layerwise_strides);
  }

  std::vector<Positive> hidden_dims;
  AutomaticNames names;  ///< those that its layers have taken

 protected:
  void check_fields(const Ref& config) override {
    for (const auto& [key, list] : {std::pair("layerwise_depths", &layerwise_depths),
                                    {"hidden_dims", &hidden_dims},
                                    {"layerwise_num_heads", &layerwise_num_heads},
                                    {"layerwise_sr_ratios", &layerwise_sr_ratios},
                                    {"layerwise_patch_sizes", &layerwise_patch_sizes},
                                    {"layerwise_strides", &layerwise_strides}})
      if (static_cast<std::int64_t>(list->size()) < num_layers)
        config[key].fail(fmt::format("expected a value for each of the {} stages", num_layers.value));
    check_blocks(config, "num_layers", num_layers);
    for (const Positive depth : layerwise_depths) check_blocks(config, "layerwise_depths", depth);
    check_rate(config, "max_drop_path_rate", max_drop_path_rate);
  }

  void assemble() override {
    const DTypePolicy stated = std::exchange(policy, {});
    std::int64_t blocks = 0;
    for (const Positive depth : layerwise_depths) blocks += depth;
    std::int64_t block = 0;
    const TensorRef image = images(names("InputLayer"));
    TensorRef x = image;
    std::int64_t rows = height(), columns = width();
    for (std::size_t i = 0; i < static_cast<std::size_t>(num_layers); ++i) {
      const std::int64_t dim = hidden_dims[i], stride = layerwise_strides[i];
      x = call("OverlappingPatchingAndEmbedding", fmt::format("patch_and_embed_{}", i),
               {{"project_dim", dim},
                {"patch_size", layerwise_patch_sizes[i].value},
                {"stride", stride},
                {"part_names", names.of(OverlappingPatchingAndEmbedding::kParts)}},
               {x});
      for (std::int64_t k = 0; k < layerwise_depths[i]; ++k, ++block) {
        for (int dropout = 0; dropout < 2; ++dropout) names("Dropout");
        x = call("HierarchicalTransformerEncoder", fmt::format("hierarchical_encoder_{}_{}", i, k),
                 {{"project_dim", dim},
                  {"num_heads", layerwise_num_heads[i].value},
                  {"sr_ratio", layerwise_sr_ratios[i].value},
                  {"drop_prob", drop_rate(block, blocks)},
                  {"part_names", names.of(HierarchicalTransformerEncoder::parts(layerwise_sr_ratios[i]))}},
                 {x});
      }
      x = call("LayerNormalization", names("LayerNormalization"), {{"epsilon", kEpsilon}}, {x});
      rows /= stride;
      columns /= stride;
      x = call("Reshape", fmt::format("output_level_{}", i), {{"target_shape", {rows, columns, -1}}}, {x});
      pyramid.emplace_back(fmt::format("P{}", i + 1), x);
    }
    input_struct = image;
    output_struct = x;
    policy = stated;
  }

 private:
  [[nodiscard]] double drop_rate(std::int64_t block, std::int64_t blocks) const {
    return blocks < 2 ? 0.0 : max_drop_path_rate * static_cast<double>(block) / static_cast<double>(blocks - 1);
  }

  std::vector<Positive> layerwise_depths, layerwise_num_heads, layerwise_sr_ratios, layerwise_patch_sizes,
      layerwise_strides;
  Positive num_layers;
  Number max_drop_path_rate;
};

/// Joins the stages of an image encoder, resized to the size of the first.
class SegFormerBackbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("projection_filters", projection_filters);
    f.required("image_encoder", image_encoder_);
  }

  AutomaticNames names;  ///< those that its layers have taken

 protected:
  void check_fields(const Ref& config) override {
    if (dynamic_cast<MiTBackbone*>(image_encoder_.get()) == nullptr)
      config["image_encoder"].fail("expected a MiTBackbone");
  }

  void assemble() override {
    auto& encoder = dynamic_cast<MiTBackbone&>(*image_encoder_);
    const DTypePolicy stated = std::exchange(policy, {});
    names = encoder.names;
    Layer& extractor = extracted(encoder, encoder.pyramid);
    const std::size_t stages = encoder.pyramid.size();
    const Shape first = encoder.find("output_level_0")->node_shapes.front().front();
    std::vector<Layer*> dense;
    for (std::size_t i = 0; i < stages; ++i)
      dense.push_back(&layer("Dense", fmt::format("linear_{}", encoder.hidden_dims[i].value),
                             {{"units", projection_filters.value}}));
    Layer& resizing = layer("Resizing", names("Resizing"),
                            {{"height", first[1]}, {"width", first[2]}, {"interpolation", "bilinear"}});
    Layer& concat = layer("Concatenate", "concatenate", {{"axis", -1}});
    Layer& fuse = chain(
        "sequential",
        {{"Conv2D",
          {{"name", names("Conv2D")}, {"filters", projection_filters.value}, {"kernel_size", 1}, {"use_bias", false}}},
         {"BatchNormalization", {{"name", "batch_normalization"}, {"epsilon", kEpsilon}, {"momentum", 0.9}}},
         {"Activation", {{"name", "activation"}, {"activation", "relu"}}}});

    const TensorRef image = input(names("InputLayer"), encoder.input_shape(), DType::float32);
    const TensorRef features = call(extractor, {image});
    ArgList outs;
    for (std::size_t i = 0; i < stages; ++i) {
      const TensorRef feature{features.layer, features.node, static_cast<int>(i)};
      outs.emplace_back(call(resizing, {call(*dense[i], {feature})}));
    }
    std::reverse(outs.begin(), outs.end());
    input_struct = image;
    output_struct = call(fuse, {call(concat, {Arg(outs)})});
    policy = stated;
  }

 private:
  Positive projection_filters;
  LayerPtr image_encoder_;
};

/// Logits of each cell, resized to the image.
class SegFormerImageSegmenter final : public Task {
 public:
  void fields(Fields& f) override { f.required("num_classes", num_classes); }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "ImageSegmenter"; }
  void assemble() override {
    const DTypePolicy stated = std::exchange(policy, {});
    AutomaticNames names = dynamic_cast<SegFormerBackbone&>(backbone()).names;
    TensorRef x = call("Dropout", names("Dropout"), {{"rate", 0.1}}, {backbone_result()});
    x = call("Conv2D", names("Conv2D"), {{"filters", num_classes.value}, {"kernel_size", 1}, {"strides", 1}}, {x});
    const Shape image = static_cast<const InputLayer&>(*backbone().input_layers().front()).batch_shape;
    output_struct = call("Resizing", names("Resizing"),
                         {{"height", image[1]}, {"width", image[2]}, {"interpolation", "bilinear"}}, {x});
    policy = stated;
  }

 private:
  Positive num_classes;
};

constexpr std::array kLayers = {
    layer_record("OverlappingPatchingAndEmbedding", make_layer<OverlappingPatchingAndEmbedding>, kModule,
                 Role::embedding),
    layer_record("HierarchicalTransformerEncoder", make_layer<HierarchicalTransformerEncoder>, kModule,
                 Role::transformer),
};

constexpr std::array kModels = {
    model_record<MiTBackbone>("MiTBackbone", "keras_hub.src.models.mit.mit_backbone"),
    model_record<ImageClassifier, ImageHead::cells>("MiTImageClassifier",
                                                    "keras_hub.src.models.mit.mit_image_classifier"),
    model_record<SegFormerBackbone>("SegFormerBackbone", "keras_hub.src.models.segformer.segformer_backbone"),
    model_record<SegFormerImageSegmenter>("SegFormerImageSegmenter",
                                          "keras_hub.src.models.segformer.segformer_image_segmenter"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "mit", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::mit
