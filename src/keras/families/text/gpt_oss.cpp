// GPT-OSS: mixtures of experts in all blocks, and attention with sinks (keras_hub/src/models/gpt_oss).
//
// Letters: see families/blocks/mixture.h; H head size.
#include <array>
#include <limits>
#include <optional>

#include "classes/layers/attention/rotary.h"
#include "classes/layers/layers.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/mixture.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::gpt_oss {
namespace {

class GptOssFamily final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override {
    LinearRotaryFamily::fields(f);
    f("sliding_window", sliding_window);
    f("head_dim", head_dim);
  }
  [[nodiscard]] Dim head_size(Dim width, Dim heads) const override {
    return head_dim ? head_dim->value : LinearRotaryFamily::head_size(width, heads);
  }
  /// Rotates an even number of features by the angles of YaRN; the last one of an odd number stays.
  [[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x) const override {
    graph::Builder& b = call.builder();
    const Dim size = b.shape(x).back(), even = size / 2 * 2;
    const Rotary rotary =
        yarn_rotary(rope_max_wavelength, even, rope_scaling_factor, {.truncate = false}, call.compute_dtype());
    if (even == size) return keras::turned(call, x, rotary);
    const auto part = [&](Dim from, Dim to) { return b.apply(graph::Slice{{{}, {}, {}, {from, to, 1}}}, {x}); };
    if (even == 0) return x;
    return b.apply(graph::Concat{3}, {keras::turned(call, part(0, even), rotary), part(even, size)});
  }
  /// A key at the distance of the window is still visible.
  [[nodiscard]] std::optional<std::int64_t> window() const override {
    return sliding_window ? std::optional(sliding_window->value + 1) : std::nullopt;
  }
  [[nodiscard]] std::string_view prefix() const override { return ""; }
  [[nodiscard]] bool biased() const override { return true; }
  [[nodiscard]] bool output_biased() const override { return true; }
  [[nodiscard]] bool has_sinks() const override { return true; }

  std::optional<Positive> sliding_window = Positive(4096), head_dim;
};

/// Applies every expert to every row. Gates and features alternate in the kernel.
class GptOssExperts final : public ExpertBank {
 public:
  void fields(Fields& f) override {
    ExpertBank::fields(f);
    f("kernel_initializer", kernel_initializer);
    f("alpha", alpha);
    f("limit", limit);
  }
  void build(Weights& w, Call&) override {
    w.add("gate_up_proj", {num_experts, hidden_dim, 2 * intermediate_dim}, kernel_initializer);
    w.add("gate_up_proj_bias", {num_experts, 2 * intermediate_dim}, Initializer("zeros"));
    w.add("down_proj", {num_experts, intermediate_dim, hidden_dim}, kernel_initializer);
    w.add("down_proj_bias", {num_experts, hidden_dim}, Initializer("zeros"));
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const auto dense = [&](const Expression& x, int kernel) {
      return times(call, x, kernel) + Expression(b, b.expand_dims(call.weight(kernel + 1), 1));
    };
    const Expression both = dense(rows(call), 0);  // (E,R,2·M)
    const auto every_second = [&](std::int64_t from) {
      return Expression(b, b.apply(graph::Slice{{{}, {}, {from, std::nullopt, 2}}}, {both}));
    };
    const auto at_most = [&](const Expression& x) { return min(x, x.number(limit)); };
    const Expression gate = max(at_most(every_second(0)), both.number(-1e9));
    const Expression up = max(at_most(every_second(1)), both.number(-limit));
    const Expression activated = gate * (gate * alpha).unary(graph::UnaryFn::sigmoid);
    return Call::result(dense((up + 1.0) * activated, 2));
  }

 private:
  Number alpha{1.702}, limit{7.0};
};

/// The probabilities (R,E) of the `top_k` experts with the largest logits, 0 for the others.
class GptOssTopKRouter final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f.required("top_k", top_k);
    f("kernel_initializer", kernel_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    dense_ = &make("Dense", "router_dense", "router_dense",
                   {{"units", num_experts.value}, {"kernel_initializer", kernel_initializer.json}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const Expression logits(b, apply(call, *dense_, {call.tensor("hidden_states")})->id);
    const Expression none = logits.number(-std::numeric_limits<double>::infinity());
    const Expression kept = where(among_largest(logits, top_k), logits, none);
    return Call::result(b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {1}}, {kept}));
  }

 private:
  Positive num_experts, top_k;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* dense_ = nullptr;
};

class GptOssSparseMoeBlock final : public SparseMoeBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("kernel_initializer", kernel_initializer);
  }
  void build(Weights&, Call&) override {
    router_ = &make(
        "GptOssTopKRouter", "router", "router",
        {{"num_experts", num_experts.value}, {"top_k", top_k.value}, {"kernel_initializer", kernel_initializer.json}});
    make_experts("GptOssExperts", "experts");
  }

 private:
  Routing route(Call& call, const TensorPtr& rows) override {
    const TensorPtr scores = apply(call, *router_, {rows});
    return {Expression(call.builder(), scores->id), scores};
  }
};

class GptOssTransformerDecoder final : public GatedBlock {
 public:
  GptOssTransformerDecoder()
      : GatedBlock(std::make_unique<GptOssFamily>(),
                   {.attention_class = "GptOssAttention",
                    .norm_class = "GptOssLayerNormalization",
                    .attention = {"self_attention", "self_attention_layer"},
                    .attention_norm = {"input_layernorm", "input_layernorm"},
                    .feed_forward_norm = {"post_attention_layernorm", "post_attention_layernorm"}}) {}

 private:
  void further_fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("output_router_logits", output_router_logits);
  }
  void make_parts(std::int64_t hidden_dim) override {
    make_attention();
    make_attention_norm();
    make_feed_forward_norm();
    experts_ = &make("GptOssSparseMoeBlock", "sparse_moe_block", "sparse_moe_block",
                     {{"hidden_dim", hidden_dim},
                      {"intermediate_dim", intermediate_dim.value},
                      {"num_experts", num_experts.value},
                      {"top_k", top_k.value},
                      {"kernel_initializer", kernel_initializer.json}});
  }
  TensorPtr feed_forward(Call& call, const TensorPtr& x) override { return apply(call, *experts_, {x}); }

  Positive num_experts, top_k = 2;
  bool output_router_logits = false;
  Layer* experts_ = nullptr;
};

class GptOssBackbone : public GroupedBackbone {
 public:
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f.required("num_key_value_heads", num_key_value_heads);
    f("sliding_window", family_.sliding_window);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("output_router_logits", output_router_logits);
    f("head_dim", family_.head_dim);
  }

 protected:
  void check_fields(const Ref& config) override {
    GroupedBackbone::check_fields(config);
    if (output_router_logits)
      config["output_router_logits"].fail("KerasHub's backbone cannot pass router logits from block to block");
  }
  void assemble() override {
    assemble_blocks(family_, false, "GptOssTransformerDecoder", "GptOssLayerNormalization", [&](std::int64_t i) {
      Json further = {{"num_experts", num_experts.value}, {"top_k", top_k.value}};
      if (i % 2 == 0) further["sliding_window"] = nullptr;  // only every second block has a window
      return further;
    });
  }

 private:
  GptOssFamily family_;
  Positive num_experts, top_k = 2;
  bool output_router_logits = false;
};

constexpr std::string_view kModule = "keras_hub.src.models.gpt_oss.gpt_oss_decoder";
constexpr std::array kLayers = {
    ClassInfo{.name = "GptOssAttention",
              .make = make_grouped_attention<GptOssFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gpt_oss.gpt_oss_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "GptOssExperts",
              .make = make_layer<GptOssExperts>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = "gate_up_proj: - d_model -; gate_up_proj_bias: - -; down_proj: - u d_model;"
                         " down_proj_bias: - d_model"},
    ClassInfo{.name = "GptOssTopKRouter", .make = make_layer<GptOssTopKRouter>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = "GptOssSparseMoeBlock",
              .make = make_layer<GptOssSparseMoeBlock>,
              .since = kAnyKeras,
              .module = kModule},
    ClassInfo{.name = "GptOssTransformerDecoder",
              .make = make_layer<GptOssTransformerDecoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
    rms_norm_record("GptOssLayerNormalization", "keras_hub.src.models.gpt_oss.gpt_oss_layer_norm"),
};

constexpr std::array kModels = {
    model_record<GptOssBackbone>("GptOssBackbone", "keras_hub.src.models.gpt_oss.gpt_oss_backbone"),
    model_record<CausalLM>("GptOssCausalLM", "keras_hub.src.models.gpt_oss.gpt_oss_causal_lm"),
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "GptOssTokenizer", .kind = TokenizerKind::byte_pairs, .end = kTextToken, .splits_added = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "gpt_oss", .keras_class = "GptOssTokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "gpt_oss",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::gpt_oss
