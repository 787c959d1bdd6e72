// ViTDet, the image encoder of SAM (keras_hub/src/models/vit_det).
//
// KerasHub passes its dtype to none of the layers, which compute in float32.
//
// Letters: B batch, H height, W width, D features, N heads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/vit_det_backbone.h"
#include "families/blocks/images/windows.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"

namespace attn::keras::vit_det {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.vit_det.vit_layers";

class ViTDetPatchingAndEmbedding final : public NamedParts {
 public:
  void fields(Fields& f) override {
    f("kernel_size", kernel_size);
    f("strides", strides);
    f("embed_dim", embed_dim);
    part_names(f);
  }
  void build(Weights&, Call&) override {
    projection_ =
        &make_part("Conv2D", "projection",
                   {{"filters", embed_dim.value}, {"kernel_size", kernel_size.items}, {"strides", strides.items}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    return apply(call, *projection_, {call.tensor("inputs")});
  }

 private:
  Window kernel_size{{16, 16}}, strides{{16, 16}};
  Positive embed_dim = 768;
  Layer* projection_ = nullptr;
};

/// Adds a trained vector to each cell.
class AddPositionalEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("img_size", img_size);
    f.required("patch_size", patch_size);
    f.required("embed_dim", embed_dim);
  }
  void build(Weights& w, Call&) override {
    const Dim side = img_size / patch_size;
    w.add("pos_embed", {1, side, side, embed_dim}, Initializer("zeros"));
  }
  Arg call(Call& call) override {
    return Call::result(call.builder().binary(graph::BinaryFn::add, call.tensor("inputs")->id, call.weight(0)));
  }

 private:
  Positive img_size, patch_size, embed_dim;
};

/// The products (B,N,H·W,H·W) of queries (B,H·W,N,D) with trained vectors for the vertical and the horizontal distances
/// to the keys.
class AddRelativePositionalEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("input_size", input_size);
    f.required("key_dim", key_dim);
  }
  void build(Weights& w, Call&) override {
    w.add("rel_pos_h", {2 * input_size.items[0] - 1, key_dim}, Initializer("zeros"));
    w.add("rel_pos_w", {2 * input_size.items[1] - 1, key_dim}, Initializer("zeros"));
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Dim rows = input_size.items[0], columns = input_size.items[1];
    const ValueId queries = call.tensor("inputs")->id;
    const Shape shape = b.shape(queries);
    const ValueId cells = b.reshape(queries, {shape[0], rows, columns, shape[2], shape[3]});
    const auto products = [&](int weight, Dim size, const char* equation) {
      const auto make = [&] {
        Tensor out = table(DType::int32, {size, size}, "the distances of cells");
        for (Dim t = 0; t < size; ++t)
          for (Dim s = 0; s < size; ++s) out.set(t * size + s, static_cast<double>(t - s + size - 1));
        return std::vector{b.constant(std::move(out))};
      };
      const ValueId distances = call.lowering().common(fmt::format("distances of {} cells", size), make)[0];
      return b.apply(graph::Einsum{equation}, {cells, b.apply(graph::Gather{0}, {call.weight(weight), distances})});
    };
    const ValueId down = b.expand_dims(products(0, rows, "bhwnc,hkc->bnhwk"), 5);
    const ValueId right = b.expand_dims(products(1, columns, "bhwnc,wkc->bnhwk"), 4);
    const ValueId sums = b.binary(graph::BinaryFn::add, down, right);  // (B,N,H,W,H,W)
    return Call::result(b.reshape(sums, {shape[0], shape[2], shape[1], shape[1]}));
  }

 private:
  Window input_size{{1, 1}};
  Positive key_dim;
};

/// A block whose attention is inside of windows, or over the whole image with a window of 0.
class WindowedTransformerEncoder final : public NamedParts {
 public:
  /// Returns the classes of the parts with names, in the order in which KerasHub makes them.
  static std::vector<std::string_view> parts(bool use_rel_pos) {
    std::vector<std::string_view> out = {"LayerNormalization", "LayerNormalization", "MultiHeadAttentionWithRelativePE",
                                         "Dense", "Dense"};
    if (use_rel_pos) out.emplace_back("AddRelativePositionalEmbedding");
    out.insert(out.end(), {"MLP", "Sequential", "Dense", "Dense"});
    return out;
  }

  void fields(Fields& f) override {
    f.required("project_dim", project_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("use_bias", use_bias);
    f("use_rel_pos", use_rel_pos);
    f("window_size", window_size);
    f.required("input_size", input_size);
    f("layer_norm_epsilon", layer_norm_epsilon);
    part_names(f);
  }
  void check(const Ref& config) override { check_heads(config, "num_heads", project_dim, num_heads); }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, project_dim / num_heads}; }

  void build(Weights&, Call&) override {
    const Json epsilon = {{"epsilon", layer_norm_epsilon.value}};
    norm_1_ = &make_part("LayerNormalization", "layer_norm1", epsilon);
    norm_2_ = &make_part("LayerNormalization", "layer_norm2", epsilon);
    inside("MultiHeadAttentionWithRelativePE", "attention", [&] {
      qkv_ = &make_part("Dense", "qkv", {{"units", 3 * project_dim}, {"use_bias", use_bias}});
      projection_ = &make_part("Dense", "projection", {{"units", project_dim.value}});
      if (use_rel_pos)
        relative_ = &make_detached(
            "AddRelativePositionalEmbedding", next_name("AddRelativePositionalEmbedding"),
            "attention/add_decomposed_relative_pe",
            {{"input_size", {grid().side_rows, grid().side_columns}}, {"key_dim", project_dim / num_heads}});
    });
    inside("MLP", "mlp_block", [&] {
      inside("Sequential", "dense_net", [&] {
        wide_ = &make_part("Dense", "layers/dense", {{"units", intermediate_dim.value}, {"activation", "gelu"}});
        narrow_ = &make_part("Dense", "layers/dense_1", {{"units", project_dim.value}});
      });
    });
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr in = call.tensor("inputs");
    const ValueId normal = apply(call, *norm_1_, {in})->id;
    const WindowGrid windows{input_size.items[0], input_size.items[1], window_size};
    const bool whole = window_size == 0;
    const ValueId seen = attended(call, whole ? normal : windows.windows_of(b, normal));
    const TensorPtr x =
        sum(call, in, Call::result(whole ? seen : windows.cropped(b, windows.filled_image_of(b, seen))));
    const TensorPtr fed = apply(call, *narrow_, {apply(call, *wide_, {apply(call, *norm_2_, {x})})});
    return sum(call, x, fed);
  }

 private:
  /// The cells that attend to each other.
  struct Cells {
    Dim side_rows, side_columns;
  };
  [[nodiscard]] Cells grid() const {
    if (window_size > 0) return {window_size, window_size};
    return {input_size.items[0], input_size.items[1]};
  }

  /// Returns the attention of cells (B,H,W,D).
  ValueId attended(Call& call, ValueId x) {
    Builder& b = call.builder();
    const Shape shape = b.shape(x);
    const Dim size = project_dim / num_heads, count = shape[1] * shape[2];
    const ValueId wide = apply(call, *qkv_, {Call::result(x)})->id;
    const ValueId qkv = b.reshape(wide, {shape[0], count, 3, num_heads, size});
    const auto part = [&](std::int64_t which) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {which, which + 1, 1}, {}, {}};
      return b.reshape(b.apply(slice, {qkv}), {shape[0], count, num_heads, size});
    };
    const ValueId queries = part(0), keys = part(1);
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size));
    if (relative_ != nullptr) how.bias = apply(call, *relative_, {Call::result(queries)})->id;
    const ValueId rows = attended_heads(call, queries, keys, part(2), how);
    const ValueId cells = b.reshape(rows, {shape[0], shape[1], shape[2], project_dim});
    return apply(call, *projection_, {Call::result(cells)})->id;
  }

  Positive project_dim, intermediate_dim, num_heads;
  bool use_bias = true, use_rel_pos = false;
  std::int64_t window_size = 0;
  Window input_size{{1, 1}};
  Number layer_norm_epsilon = 1e-6;
  Layer* norm_1_ = nullptr;
  Layer* norm_2_ = nullptr;
  Layer* qkv_ = nullptr;
  Layer* projection_ = nullptr;
  Layer* relative_ = nullptr;
  Layer* wide_ = nullptr;
  Layer* narrow_ = nullptr;
};

constexpr std::array kLayers = {
    layer_record("ViTDetPatchingAndEmbedding", make_layer<ViTDetPatchingAndEmbedding>, kModule, Role::embedding),
    layer_record("AddPositionalEmbedding", make_layer<AddPositionalEmbedding>, kModule, Role::embedding,
                 "pos_embed: - - - d_model"),
    layer_record("AddRelativePositionalEmbedding", make_layer<AddRelativePositionalEmbedding>, kModule, Role::embedding,
                 "rel_pos: - d_head"),
    layer_record("WindowedTransformerEncoder", make_layer<WindowedTransformerEncoder>, kModule, Role::transformer),
};

constexpr std::array kModels = {
    model_record<ViTDetBackbone>("ViTDetBackbone", "keras_hub.src.models.vit_det.vit_det_backbone"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "vit_det", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::vit_det

namespace attn::keras {

void ViTDetBackbone::fields(Fields& f) {
  f.required("image_shape", image_shape);
  f("patch_size", patch_size);
  f.required("hidden_size", hidden_size);
  f.required("num_layers", num_layers);
  f.required("intermediate_dim", intermediate_dim);
  f.required("num_heads", num_heads);
  f("num_output_channels", num_output_channels);
  f("use_bias", use_bias);
  f("use_abs_pos", use_abs_pos);
  f("use_rel_pos", use_rel_pos);
  f("window_size", window_size);
  f.required("global_attention_layer_indices", global_attention_layer_indices);
  f("layer_norm_epsilon", layer_norm_epsilon);
}

void ViTDetBackbone::check_fields(const Ref& config) {
  check_square(config);
  check_blocks(config, "num_layers", num_layers);
  check_heads(config, "num_heads", hidden_size, num_heads);
  checked_patches(config, "patch_size", height() / patch_size, width() / patch_size);
  if (image_shape.items[2] != 3) config["image_shape"].fail("expected three channels");
  if (window_size < 0 || window_size > kMaxSize) config["window_size"].fail("expected an integer from 0 on");
}

void ViTDetBackbone::assemble() {
  // KerasHub's layers have the global policy.
  const DTypePolicy stated = std::exchange(policy, {});
  const std::int64_t side = height() / patch_size;
  const Json patching = names.of(std::array<std::string_view, 1>{"Conv2D"});
  std::vector<Json> blocks;
  for (std::int64_t i = 0; i < num_layers; ++i)
    blocks.push_back(names.of(vit_det::WindowedTransformerEncoder::parts(use_rel_pos)));
  const auto convolution = [&](std::int64_t size, const char* padding) {
    return ChainPart{"Conv2D",
                     {{"name", names("Conv2D")},
                      {"filters", num_output_channels.value},
                      {"kernel_size", size},
                      {"padding", padding},
                      {"use_bias", false}}};
  };
  const auto norm = [&] {
    return ChainPart{"LayerNormalization", {{"name", names("LayerNormalization")}, {"epsilon", 1e-6}}};
  };
  const ChainPart first = convolution(1, "valid"), first_norm = norm(), second = convolution(3, "same"),
                  second_norm = norm();
  // KerasHub assigns the neck first, which counts for the order of variables.
  Layer& neck = chain(names("Sequential"), {first, first_norm, second, second_norm});

  const TensorRef image = images("images");
  const auto constant = [](std::array<double, 3> values) {
    Tensor out(DType::float32, {3});
    for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
    return ConstantArg{std::move(out)};
  };
  TensorRef x = operation("Subtract", Json::object(), {image, constant({0.485, 0.456, 0.406})});
  x = operation("TrueDivide", Json::object(), {x, constant({0.229, 0.224, 0.225})});
  x = call("ViTDetPatchingAndEmbedding", "vi_t_det_patching_and_embedding",
           {{"kernel_size", patch_size.value},
            {"strides", patch_size.value},
            {"embed_dim", hidden_size.value},
            {"part_names", patching}},
           {x});
  if (use_abs_pos)
    x = call("AddPositionalEmbedding", "add_positional_embedding",
             {{"img_size", height()}, {"patch_size", patch_size.value}, {"embed_dim", hidden_size.value}}, {x});
  for (std::int64_t i = 0; i < num_layers; ++i) {
    const bool whole = std::ranges::count(global_attention_layer_indices, i) > 0;
    x = call("WindowedTransformerEncoder", names("WindowedTransformerEncoder"),
             {{"project_dim", hidden_size.value},
              {"intermediate_dim", intermediate_dim.value},
              {"num_heads", num_heads.value},
              {"use_bias", use_bias},
              {"use_rel_pos", use_rel_pos},
              {"window_size", whole ? 0 : window_size},
              {"input_size", {side, side}},
              {"part_names", blocks[static_cast<std::size_t>(i)]}},
             {x});
  }
  input_struct = image;
  output_struct = call(neck, {x});
  policy = stated;
}

}  // namespace attn::keras
