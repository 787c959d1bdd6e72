// MobileNetV5: convolutions, with attention over cells in its later stages (keras_hub/src/models/mobilenetv5). It is
// also the vision encoder of Gemma 3n.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/spatial.h"
#include "classes/ops/expression.h"
#include "families/blocks/automatic_names.h"
#include "families/blocks/images/mobile_attention.h"
#include "families/blocks/images/mobile_blocks.h"
#include "families/blocks/images/mobile_layers.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"
#include "model/tasks/task.h"

namespace attn::keras::mobilenetv5 {
namespace {

using graph::Builder;
using graph::ValueId;

/// A value for each block of each stage.
template <typename T>
using Stackwise = std::vector<std::vector<T>>;

/// A block of a stage: its class, its constructor arguments, and its parts with automatic names.
struct Block {
  std::string_view class_name;
  Json arguments;
  std::vector<std::string_view> parts;
  std::string name;
};

/// Returns a number as it was given, an integer or not.
Json as_given(const Number& number) {
  return number.integral ? Json(static_cast<std::int64_t>(number.value)) : Json(number.value);
}

class MobileNetV5Backbone final : public Backbone {
 public:
  /// KerasHub's get_config omits the name, `trainable` and the dtype, which its constructor accepts. They are written
  /// only if they differ from the defaults.
  void config(Fields& f) override {
    if (f.reading()) return Backbone::config(f);
    Json whole = Json::object(), plain = Json::object();
    Fields written(whole, f.version()), defaults(plain, f.version());
    Backbone::config(written);
    DTypePolicy dtype;
    defaults("dtype", dtype);
    plain["name"] = snake_case(class_name());
    plain["trainable"] = true;
    for (const auto& [key, value] : whole.items())
      if (!plain.contains(key) || plain[key] != value) f.put(key, value);
  }
  void fields(Fields& f) override {
    f.required("stackwise_block_types", block_types);
    f.required("stackwise_num_blocks", num_blocks);
    f.required("stackwise_num_filters", num_filters);
    f.required("stackwise_strides", strides);
    f.required("stackwise_act_layers", act_layers);
    f.required("stackwise_exp_ratios", exp_ratios);
    f.required("stackwise_se_ratios", se_ratios);
    f.required("stackwise_dw_kernel_sizes", dw_kernel_sizes);
    f.required("stackwise_dw_start_kernel_sizes", dw_start_kernel_sizes);
    f.required("stackwise_dw_end_kernel_sizes", dw_end_kernel_sizes);
    f.required("stackwise_exp_kernel_sizes", exp_kernel_sizes);
    f.required("stackwise_pw_kernel_sizes", pw_kernel_sizes);
    f.required("stackwise_num_heads", num_heads);
    f.required("stackwise_key_dims", key_dims);
    f.required("stackwise_value_dims", value_dims);
    f.required("stackwise_kv_strides", kv_strides);
    f.required("stackwise_use_cpe", use_cpe);
    f("filters", filters);
    f("stem_size", stem_size);
    f("stem_bias", stem_bias);
    f("fix_stem", fix_stem);
    f("num_features", num_features);
    f("pad_type", pad_type);
    f("use_msfa", use_msfa);
    f("msfa_indices", msfa_indices);
    f("msfa_output_resolution", msfa_output_resolution);
    f("act_layer", act_layer);
    f("norm_layer", norm_layer);
    f("se_from_exp", se_from_exp);
    f("drop_path_rate", drop_path_rate);
    f("layer_scale_init_value", layer_scale_init_value);
    f("image_shape", image_shape);
    f("data_format", data_format);
  }

  AutomaticNames names;  ///< those that its layers have taken
  Positive num_features = 2048;
  bool use_msfa = true;
  Activation act_layer = Activation::named("gelu").value_or(Activation{});
  Choice norm_layer{"rms_norm", {"batch_norm", "rms_norm"}};

 protected:
  void check_fields(const Ref& config) override {
    if (num_blocks.empty()) config["stackwise_num_blocks"].fail("expected at least one stage");
    std::int64_t count = 0;
    for (const Positive stage : num_blocks) {
      check_blocks(config, "stackwise_num_blocks", stage);
      check_blocks(config, "stackwise_num_blocks", count += stage);
    }
    check_lists(config);
    for (std::size_t i = 0; i < num_blocks.size(); ++i)
      for (std::size_t k = 0; k < static_cast<std::size_t>(num_blocks[i]); ++k) check_block(config, i, k);
    check_rate(config, "drop_path_rate", drop_path_rate);
    const bool is_sized = image_shape.rank() == 3 && image_shape[0] != 0 && image_shape[1] != 0 && image_shape[2] > 0;
    if (!is_sized) config["image_shape"].fail("expected a height, a width, and the number of channels");
    if (static_cast<double>(stem_size) > kMostChannels) config["stem_size"].fail("too many channels");
    if (!fix_stem) stem_size = adjusted_channels(static_cast<double>(stem_size));
    if (use_msfa) check_fusion(config);
  }

  void assemble() override {
    // KerasHub numbers the layers in the order of their constructors; blocks make theirs when they are called.
    std::vector<std::vector<Block>> stages = blocks();
    Json stem =
        with_format({{"out_chs", stem_size.value},
                     {"kernel_size", 3},
                     {"stride", 2},
                     {"pad_type", pad_type.value},
                     {"bias", stem_bias},
                     {"act_layer", act_layer.json},
                     {"norm_layer", norm_layer.value},
                     {"part_names", names.of(std::array{std::string_view("Conv2D"), norm_class(norm_layer.value)})}});
    for (std::vector<Block>& stage : stages)
      for (Block& block : stage) block.name = names(block.class_name);
    Json fused = use_msfa ? names.of(fusion_parts(norm_layer.value)) : Json();

    const TensorRef image =
        input(names("InputLayer"), {kUnknown, image_shape[0], image_shape[1], image_shape[2]}, DType::float32);
    TensorRef x = call("ConvNormAct", "conv_stem", std::move(stem), {image});
    const std::vector<std::size_t> taken = use_msfa ? fused_features() : std::vector<std::size_t>();
    const auto is_taken = [&](std::size_t at) { return std::find(taken.begin(), taken.end(), at) != taken.end(); };
    ArgList features;
    if (is_taken(0)) features.emplace_back(x);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      for (Block& block : stages[i]) {
        Json part_names = names.of(block.parts);
        if (block.class_name != "MobileAttention") block.arguments["part_names"] = std::move(part_names);
        x = call(block.class_name, block.name, std::move(block.arguments), {x});
      }
      if (is_taken(i + 1)) features.emplace_back(x);
    }
    if (use_msfa) {
      for (const Json& part : names.of(later_fusion_parts(norm_layer.value))) fused.push_back(part);
      x = call("MobileNetV5MultiScaleFusionAdapter", "msfa", fusion(std::move(fused)), {Arg(features)});
    }
    input_struct = image;
    output_struct = x;
  }

 private:
  void check_lists(const Ref& config) const {
    const auto check = [&](std::string_view key, const auto& lists) {
      for (std::size_t i = 0; i < num_blocks.size(); ++i)
        if (lists.size() <= i || static_cast<std::int64_t>(lists[i].size()) < num_blocks[i])
          config[key].fail(
              fmt::format("expected a value for each of the {} blocks of stage {}", num_blocks[i].value, i));
    };
    check("stackwise_block_types", block_types);
    check("stackwise_num_filters", num_filters);
    check("stackwise_strides", strides);
    check("stackwise_act_layers", act_layers);
    check("stackwise_exp_ratios", exp_ratios);
    check("stackwise_se_ratios", se_ratios);
    check("stackwise_dw_kernel_sizes", dw_kernel_sizes);
    check("stackwise_dw_start_kernel_sizes", dw_start_kernel_sizes);
    check("stackwise_dw_end_kernel_sizes", dw_end_kernel_sizes);
    check("stackwise_exp_kernel_sizes", exp_kernel_sizes);
    check("stackwise_pw_kernel_sizes", pw_kernel_sizes);
    check("stackwise_num_heads", num_heads);
    check("stackwise_key_dims", key_dims);
    check("stackwise_value_dims", value_dims);
    check("stackwise_kv_strides", kv_strides);
    check("stackwise_use_cpe", use_cpe);
  }

  void check_block(const Ref& config, std::size_t i, std::size_t k) const {
    const std::string& type = block_types[i][k];
    if (type != "er" && type != "uir" && type != "mqa")
      config["stackwise_block_types"].fail(
          fmt::format("blocks of the type '{}' are not supported; KerasHub with TensorFlow builds only er, uir and mqa",
                      printable(type)));
    if (static_cast<double>(num_filters[i][k]) > kMostChannels)
      config["stackwise_num_filters"].fail("too many channels");
    if (strides[i][k] != 1 && strides[i][k] != 2) config["stackwise_strides"].fail("expected strides of 1 and 2");
    if (type != "mqa" && se_ratios[i][k] != 0.0)
      config["stackwise_se_ratios"].fail(
          "expected ratios of 0, because KerasHub's blocks cannot call their squeeze-and-excitation layer");
  }

  /// KerasHub counts only stages before a stride as features, but takes the results of stages by the same numbers.
  void check_fusion(const Ref& config) const {
    const Ref place = config.find("msfa_indices").value_or(config);
    const std::vector<std::int64_t> counted = features();
    std::int64_t expected = 0, found = 0;
    for (std::int64_t at : msfa_indices.items) {
      if (at < 0) at += static_cast<std::int64_t>(counted.size());
      if (at < 0 || at >= static_cast<std::int64_t>(counted.size()))
        place.fail(fmt::format("there are {} features", counted.size()));
      expected += counted[static_cast<std::size_t>(at)];
    }
    const std::vector<std::size_t> taken = fused_features();
    for (std::size_t at = 0; at <= num_blocks.size(); ++at)
      if (std::find(taken.begin(), taken.end(), at) != taken.end())
        found += at == 0 ? stem_size.value : stage_filters(at - 1);
    if (taken.empty() || expected != found)
      place.fail(
          fmt::format("KerasHub would fuse {} channels, and expects {}; every stage must begin with a stride of 2",
                      found, expected));
  }

  /// Returns the channels of each feature: of the stem, and of stages before a stride.
  [[nodiscard]] std::vector<std::int64_t> features() const {
    std::vector<std::int64_t> out;
    if (strides[0][0] > 1) out.push_back(stem_size);
    for (std::size_t i = 0; i < num_blocks.size(); ++i)
      if (i + 1 == num_blocks.size() || strides[i + 1][0] > 1) out.push_back(stage_filters(i));
    return out;
  }
  /// Returns the numbers of the fused features, counted from 0.
  [[nodiscard]] std::vector<std::size_t> fused_features() const {
    const auto count = static_cast<std::int64_t>(features().size());
    std::vector<std::size_t> out;
    for (const std::int64_t at : msfa_indices.items) out.push_back(static_cast<std::size_t>(at < 0 ? at + count : at));
    return out;
  }
  [[nodiscard]] std::int64_t stage_filters(std::size_t stage) const {
    return adjusted_channels(static_cast<double>(num_filters[stage][static_cast<std::size_t>(num_blocks[stage]) - 1]));
  }

  [[nodiscard]] Json with_format(Json arguments) const {
    arguments["data_format"] = data_format.value;
    arguments["channel_axis"] = -1;
    return arguments;
  }

  /// Returns the blocks of each stage. Only the first block of a stage has a stride; beyond a stride of 32 in all,
  /// later convolutions are dilated instead.
  [[nodiscard]] std::vector<std::vector<Block>> blocks() const {
    constexpr std::int64_t kMostStride = 32, kMostDilation = 1 << 20;
    std::int64_t count = 0, number = 0, total = 2, dilation = 1;
    for (const Positive stage : num_blocks) count += stage;
    std::vector<std::vector<Block>> out;
    for (std::size_t i = 0; i < num_blocks.size(); ++i) {
      std::vector<Block>& stage = out.emplace_back();
      for (std::size_t k = 0; k < static_cast<std::size_t>(num_blocks[i]); ++k, ++number) {
        std::int64_t stride = k == 0 ? strides[i][0] : 1, next = dilation;
        if (total * stride > kMostStride) next *= std::exchange(stride, 1);
        total *= stride;
        Block block = block_of(i, k);
        block.arguments["filters"] = adjusted_channels(static_cast<double>(num_filters[i][k]));
        block.arguments["stride"] = stride;
        block.arguments["dilation"] = std::exchange(dilation, next);
        block.arguments["pad_type"] = pad_type.value;
        block.arguments["norm_layer"] = norm_layer.value;
        block.arguments["drop_path_rate"] = drop_path_rate * static_cast<double>(number) / static_cast<double>(count);
        stage.push_back(std::move(block));
        if (dilation > kMostDilation) fail("there are too many strides", "stackwise_strides");
      }
    }
    return out;
  }

  /// Returns a block with the arguments that only its class has.
  [[nodiscard]] Block block_of(std::size_t i, std::size_t k) const {
    const std::string& norm = norm_layer.value;
    const Json scale = layer_scale_init_value ? as_given(*layer_scale_init_value) : Json();
    if (block_types[i][k] == "mqa")
      return {"MobileAttention",
              with_format({{"num_heads", num_heads[i][k] ? Json(*num_heads[i][k]) : Json()},
                           {"key_dim", key_dims[i][k]},
                           {"value_dim", value_dims[i][k]},
                           {"use_multi_query", true},
                           {"kv_stride", kv_strides[i][k]},
                           {"use_cpe", use_cpe[i][k]},
                           {"layer_scale_init_value", scale}}),
              {"Dropout", "Dropout"},
              ""};
    const Json act = act_layers[i][k] ? Json(*act_layers[i][k]) : act_layer.json;
    if (block_types[i][k] == "er")
      return {"EdgeResidual",
              with_format({{"exp_kernel_size", exp_kernel_sizes[i][k]},
                           {"pw_kernel_size", pw_kernel_sizes[i][k]},
                           {"exp_ratio", as_given(exp_ratios[i][k])},
                           {"act_layer", act}}),
              conv_parts(2, norm), ""};
    const std::int64_t start = dw_start_kernel_sizes[i][k], mid = dw_kernel_sizes[i][k],
                       end = dw_end_kernel_sizes[i][k];
    const std::size_t convs = std::size_t{2} + (start != 0 ? 1 : 0) + (mid != 0 ? 1 : 0) + (end != 0 ? 1 : 0);
    std::vector<std::string_view> parts = conv_parts(convs, norm);
    if (layer_scale_init_value) parts.emplace_back("LayerScale2d");
    return {"UniversalInvertedResidual",
            with_format({{"dw_kernel_size_start", start},
                         {"dw_kernel_size_mid", mid},
                         {"dw_kernel_size_end", end},
                         {"exp_ratio", as_given(exp_ratios[i][k])},
                         {"act_layer", act},
                         {"layer_scale_init_value", scale}}),
            std::move(parts), ""};
  }

  [[nodiscard]] Json fusion(Json part_names) const {
    const std::vector<std::int64_t> counted = features();
    Json in_chs = Json::array();
    for (const std::size_t at : fused_features()) in_chs.push_back(counted[at]);
    return with_format({{"in_chs", std::move(in_chs)},
                        {"filters", num_features.value},
                        {"output_resolution", msfa_output_resolution.value},
                        {"act_layer", act_layer.json},
                        {"norm_layer", norm_layer.value},
                        {"part_names", std::move(part_names)}});
  }

  Stackwise<std::string> block_types;
  std::vector<Positive> num_blocks;
  Stackwise<Positive> num_filters;
  Stackwise<std::int64_t> strides;
  Stackwise<std::optional<std::string>> act_layers;
  Stackwise<Number> exp_ratios, se_ratios;
  Stackwise<std::int64_t> dw_kernel_sizes, dw_start_kernel_sizes, dw_end_kernel_sizes, exp_kernel_sizes,
      pw_kernel_sizes;
  Stackwise<std::optional<std::int64_t>> num_heads;
  Stackwise<std::int64_t> key_dims, value_dims, kv_strides;
  Stackwise<bool> use_cpe;
  Positive filters = 3, stem_size = 16, msfa_output_resolution = 16;
  bool stem_bias = true, fix_stem = false, se_from_exp = true;
  Choice pad_type{"same", {"same", "valid"}}, data_format{"channels_last", {"channels_last"}};
  Tuple msfa_indices{{-2, -1}};
  Number drop_path_rate = 0.0;
  std::optional<Number> layer_scale_init_value;
  Shape image_shape{kUnknown, kUnknown, 3};
};

/// The mean, the maximum, or both, of all cells (B,H,W,C).
class SelectAdaptivePool2d final : public Layer {
 public:
  void fields(Fields& f) override {
    f("pool_type", pool_type);
    f("flatten", flatten);
    f("data_format", data_format);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Expression x(b, call.tensor("inputs")->id);
    expect_rank(x.shape(), 4);
    if (pool_type.value.empty()) return Call::result(flatten ? ValueId(flat(b, x)) : x.id);
    const auto pooled = [&](graph::ReduceFn fn) { return x.reduced({fn, {1, 2}, !flatten}); };
    if (pool_type.value == "avg") return Call::result(pooled(graph::ReduceFn::mean));
    if (pool_type.value == "max") return Call::result(pooled(graph::ReduceFn::max));
    const Expression mean = pooled(graph::ReduceFn::mean), max = pooled(graph::ReduceFn::max);
    if (pool_type.value == "avgmax") return Call::result((mean + max) * 0.5);
    return Call::result(b.apply(graph::Concat{mean.shape().rank() - 1}, {mean, max}));
  }

 private:
  static ValueId flat(Builder& b, const Expression& x) {
    const Shape cells = x.shape().slice(1, 4);
    return b.reshape(x, {x.shape()[0], cells.known() ? cells.size() : kUnknown});
  }

  Choice pool_type{"avg", {"avg", "max", "avgmax", "catavgmax", ""}};
  bool flatten = false;
  Choice data_format{"channels_last", {"channels_last"}};
};

/// Pooled cells, a convolution if the backbone fuses no features, dropout, logits.
class MobileNetV5ImageClassifier final : public Task {
 public:
  void fields(Fields& f) override {
    f.required("num_classes", num_classes);
    f("head_hidden_size", head_hidden_size);
    f("global_pool", global_pool);
    f("drop_rate", drop_rate);
    if (f.reading()) f("head_dtype", head_dtype);  // KerasHub accepts this key but does not write it
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "ImageClassifier"; }
  void check_fields(const Ref& config) override {
    check_rate(config, "drop_rate", drop_rate);
    if (!encoder().use_msfa && encoder().norm_layer.value == "batch_norm")
      config["backbone"].fail("KerasHub's head needs use_msfa=true or norm_layer=\"rms_norm\"");
  }

  void assemble() override {
    const MobileNetV5Backbone& encoder = this->encoder();
    const DTypePolicy whole = policy;
    AutomaticNames names = encoder.names;
    const TensorRef cells = backbone_result();
    policy = {};
    TensorRef x = call("SelectAdaptivePool2d", names("SelectAdaptivePool2d"),
                       {{"pool_type", global_pool.value}, {"flatten", encoder.use_msfa}}, {cells});
    policy = head_dtype.value_or(whole);
    if (!encoder.use_msfa) {
      const std::array<std::string_view, 2> parts = {"Conv2D", norm_class(encoder.norm_layer.value)};
      x = call("ConvNormAct", "conv_head",
               {{"out_chs", head_hidden_size.value},
                {"kernel_size", 1},
                {"act_layer", encoder.act_layer.json},
                {"norm_layer", encoder.norm_layer.value},
                {"part_names", names.of(parts)}},
               {x});
      x = call("Flatten", names("Flatten"), Json::object(), {x});
    }
    if (drop_rate > 0.0) x = call("Dropout", names("Dropout"), {{"rate", drop_rate.value}}, {x});
    if (num_classes > 0) {
      output_struct = call("Dense", "classifier", {{"units", num_classes}}, {x});
    } else {
      policy = {};
      output_struct = call("Activation", "identity_classifier", {{"activation", "linear"}}, {x});
    }
    policy = whole;
  }

 private:
  [[nodiscard]] const MobileNetV5Backbone& encoder() const {
    return dynamic_cast<const MobileNetV5Backbone&>(backbone());
  }

  std::int64_t num_classes = 0;  ///< 0: the result is the pooled vector
  Positive head_hidden_size = 2048;
  Choice global_pool{"avg", {"avg", "max", "avgmax", "catavgmax", ""}};
  Number drop_rate = 0.0;
  std::optional<DTypePolicy> head_dtype;
};

constexpr std::string_view kBlocks = "keras_hub.src.models.mobilenetv5.mobilenetv5_blocks";
constexpr std::string_view kAttention = "keras_hub.src.models.mobilenetv5.mobilenetv5_attention";
constexpr std::string_view kParts = "keras_hub.src.models.mobilenetv5.mobilenetv5_layers";
constexpr std::string_view kUtils = "keras_hub.src.models.mobilenetv5.mobilenetv5_utils";

constexpr std::array kLayers = {
    layer_record("RmsNorm2d", make_rms_norm_2d, kParts, Role::normalization, "gamma: c"),
    layer_record("LayerScale2d", make_layer_scale_2d, kParts, Role::other, "gamma: c"),
    layer_record("ConvNormAct", make_conv_norm_act, kParts, Role::kernel),
    layer_record("EdgeResidual", make_edge_residual, kBlocks),
    layer_record("UniversalInvertedResidual", make_universal_inverted_residual, kBlocks),
    layer_record("MobileNetV5MultiScaleFusionAdapter", make_multi_scale_fusion_adapter, kBlocks),
    layer_record("MultiQueryAttention2d", make_multi_query_attention_2d, kAttention, Role::attention),
    layer_record("MobileAttention", make_mobile_attention, kAttention, Role::transformer),
    layer_record("SelectAdaptivePool2d", make_layer<SelectAdaptivePool2d>, kUtils, Role::pooling),
};

constexpr std::array kModels = {
    model_record<MobileNetV5Backbone>("MobileNetV5Backbone", "keras_hub.src.models.mobilenetv5.mobilenetv5_backbone"),
    model_record<MobileNetV5ImageClassifier>("MobileNetV5ImageClassifier",
                                             "keras_hub.src.models.mobilenetv5.mobilenetv5_image_classifier"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "mobilenetv5", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::mobilenetv5
