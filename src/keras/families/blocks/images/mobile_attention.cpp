// Letters: B batch, T and S cells, N heads, H head size.
#include "families/blocks/images/mobile_attention.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "families/blocks/images/mobile_layers.h"
#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// An attention of several query heads to one head of keys and values, which are those of a smaller image if
/// `kv_stride` is above 1.
class MultiQueryAttention2d final : public MobileLayer {
 public:
  void fields(Fields& f) override {
    f.required("filters", filters);
    f("num_heads", num_heads);
    f("key_dim", key_dim);
    f("value_dim", value_dim);
    f("kv_stride", kv_stride);
    f("dw_kernel_size", dw_kernel_size);
    f("dilation", dilation);
    f("padding", pad_type);
    f("norm_layer", norm_layer);
    f("use_bias", use_bias);
  }
  void check(const Ref& config) override {
    MobileLayer::check(config);
    for (const auto& [key, size] :
         {std::pair<const char*, std::int64_t>("num_heads", num_heads), {"key_dim", key_dim}, {"value_dim", value_dim}})
      if (size < 0 || static_cast<double>(size) > kMostChannels) config[key].fail("expected a number from 0 to 1e9");
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, key_dim}; }

  void build(Weights&, Call& call) override {
    const Dim in = channels(call);
    if (key_dim == 0) key_dim = in / num_heads;
    if (value_dim == 0) value_dim = in / num_heads;
    query_ = &projection("query", "query_layers", num_heads * key_dim);
    key_ = smaller("key", in, key_dim);
    value_ = smaller("value", in, value_dim);
    output_ = &projection("output", "output_proj_layers", filters);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr x = call.tensor("inputs");
    const ValueId query = apply(call, *query_, {x})->id;
    const Shape cells = b.shape(query);
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(key_dim));
    const ValueId key = head_of(call, key_, x, key_dim), value = head_of(call, value_, x, value_dim);
    const ValueId joined = attended_heads(call, split(b, query, num_heads, key_dim), key, value, how);
    const ValueId image = b.reshape(joined, {cells[0], cells[1], cells[2], num_heads * value_dim});
    return apply(call, *output_, {Call::result(image)});
  }

 private:
  struct Smaller {
    Layer *down = nullptr, *norm = nullptr, *projection = nullptr;
  };

  Layer& projection(const std::string& role, const std::string& list, std::int64_t count) {
    return make(
        "Conv2D", role + "_proj", list + "/conv2d",
        {{"filters", count}, {"kernel_size", 1}, {"use_bias", use_bias}, {"kernel_initializer", conv_initializer()}});
  }
  Smaller smaller(const std::string& role, Dim in, std::int64_t count) {
    Smaller out;
    const std::string list = role + "_layers";
    if (kv_stride > 1) {
      out.down = &make("DepthwiseConv2D", role + "_down_conv", list + "/depthwise_conv2d",
                       {{"kernel_size", dw_kernel_size.value},
                        {"strides", kv_stride},
                        {"dilation_rate", dilation.value},
                        {"padding", pad_type.value},
                        {"use_bias", false},
                        {"depthwise_initializer", conv_initializer()}});
      out.norm = &make_norm(role + "_norm", list + "/" + snake_case(norm_class(norm_layer.value)), in);
    }
    out.projection = &projection(role, list, count);
    return out;
  }

  /// (B,…,N·H) → (B,T,N,H).
  static ValueId split(Builder& b, ValueId cells, std::int64_t heads, std::int64_t size) {
    const ValueId rows = rows_of_cells(b, cells);
    const Shape shape = b.shape(rows);
    return b.reshape(rows, {shape[0], shape[1], heads, size});
  }
  static ValueId head_of(Call& call, const Smaller& layers, TensorPtr x, std::int64_t size) {
    if (layers.down != nullptr) x = apply(call, *layers.norm, {apply(call, *layers.down, {x})});
    return split(call.builder(), apply(call, *layers.projection, {x})->id, 1, size);
  }

  Positive filters, num_heads = 8, dw_kernel_size = 3, dilation = 1;
  std::int64_t kv_stride = 1, key_dim = 0, value_dim = 0;  ///< a size of 0: the channels divided by the heads
  bool use_bias = false;
  Layer* query_ = nullptr;
  Smaller key_, value_;
  Layer* output_ = nullptr;
};

/// x + attention(norm x), perhaps after a depthwise convolution that is added for the positions.
class MobileAttention final : public MobileBlock {
 public:
  void fields(Fields& f) override {
    f.required("filters", filters);
    f("stride", stride);
    f("dw_kernel_size", dw_kernel_size);
    f("dilation", dilation);
    f("pad_type", pad_type);
    f("num_heads", num_heads);
    f("key_dim", key_dim);
    f("value_dim", value_dim);
    f("use_multi_query", use_multi_query);
    f("query_strides", query_strides);
    f("kv_stride", kv_stride);
    f("cpe_dw_kernel_size", cpe_dw_kernel_size);
    f("noskip", noskip);
    f("norm_layer", norm_layer);
    f("drop_path_rate", drop_path_rate);
    f("attn_drop", attn_drop);
    f("proj_drop", proj_drop);
    f("layer_scale_init_value", layer_scale_init_value);
    f("use_bias", use_bias);
    f("use_cpe", use_cpe);
    f("channel_axis", channel_axis);
    f("data_format", data_format);
  }
  void check(const Ref& config) override {
    MobileBlock::check(config);
    if (!use_multi_query)
      config.fail("attn supports only use_multi_query=true; KerasHub's other attention fails with TensorFlow");
    if (query_strides.items != std::vector<std::int64_t>{1, 1})
      config["query_strides"].fail("attn supports only (1, 1)");
    for (const auto& [key, rate] : {std::pair("attn_drop", attn_drop), {"proj_drop", proj_drop}})
      if (rate != 0.0) config[key].fail("attn supports only 0");
    if (!num_heads && key_dim <= 0) config["num_heads"].fail("expected a number of heads, or a key_dim");
  }

  void build(Weights&, Call& call) override {
    const Dim in = channels(call);
    if (!num_heads && in % key_dim != 0) throw bad_input("{} channels cannot be divided into heads of {}", in, key_dim);
    if (use_cpe)
      conv_cpe_dw_ = &make("DepthwiseConv2D", "conv_cpe_dw", "conv_cpe_dw",
                           {{"kernel_size", cpe_dw_kernel_size.value},
                            {"padding", "same"},
                            {"dilation_rate", dilation.value},
                            {"depthwise_initializer", conv_initializer()}});
    norm_ = &make_norm("norm", "norm", in);
    attn_ = &make("MultiQueryAttention2d", "attn", "attn",
                  {{"filters", filters.value},
                   {"num_heads", num_heads ? num_heads->value : in / key_dim},
                   {"key_dim", key_dim},
                   {"value_dim", value_dim},
                   {"kv_stride", kv_stride},
                   {"dw_kernel_size", dw_kernel_size.value},
                   {"dilation", dilation.value},
                   {"padding", pad_type.value},
                   {"norm_layer", norm_layer.value},
                   {"use_bias", use_bias}});
    make_end("layer_scale", in);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    TensorPtr x = call.tensor("inputs");
    if (conv_cpe_dw_ != nullptr) x = sum(call, x, apply(call, *conv_cpe_dw_, {x}));
    return finished(call, apply(call, *attn_, {apply(call, *norm_, {x})}), x);
  }

 private:
  Positive dw_kernel_size = 3, cpe_dw_kernel_size = 3;
  std::optional<Positive> num_heads = Positive(8);
  std::int64_t kv_stride = 1, key_dim = 64, value_dim = 64;
  bool use_multi_query = false, use_bias = false, use_cpe = false;
  Window query_strides{{1, 1}};
  Number attn_drop = 0.0, proj_drop = 0.0;
  Layer* conv_cpe_dw_ = nullptr;
  Layer* norm_ = nullptr;
  Layer* attn_ = nullptr;
};

}  // namespace

LayerPtr make_multi_query_attention_2d() { return std::make_unique<MultiQueryAttention2d>(); }
LayerPtr make_mobile_attention() { return std::make_unique<MobileAttention>(); }

}  // namespace attn::keras
