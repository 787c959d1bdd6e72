// Qwen 3.5 with mixtures of experts (keras_hub/src/models/qwen3_5_moe).
#include <array>
#include <cstdint>

#include "families/blocks/decoders/qwen3_5_block.h"
#include "families/blocks/decoders/qwen_mixture.h"
#include "families/blocks/mixture.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"

namespace attn::keras::qwen3_5_moe {
namespace {

constexpr std::string_view kModule = "keras_hub.src.models.qwen3_5_moe.qwen3_5_moe_decoder";

class Qwen3_5MoeMlp final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f.required("hidden_dim", hidden_dim);
    f("kernel_initializer", kernel_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const auto dense = [&](const std::string& called, std::int64_t units) {
      return &make("Dense", called, "_" + called,
                   {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
    };
    layers_.gate = dense("feedforward_gate_dense", intermediate_dim);
    layers_.up = dense("feedforward_intermediate_dense", intermediate_dim);
    layers_.down = dense("feedforward_output_dense", hidden_dim);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    return layers_(call, call.tensor("x"));
  }

 private:
  Positive intermediate_dim, hidden_dim;
  Initializer kernel_initializer{"glorot_uniform"};
  Qwen3_5FeedForward layers_;
};

/// Adds the shared expert, multiplied by the sigmoid of a gate. The weights of the other experts add up to 1.
class Qwen3_5MoeSparseMoeBlock final : public SparseMoeBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("moe_intermediate_dim", intermediate_dim);
    f.required("shared_expert_intermediate_size", shared_expert_intermediate_size);
    f.required("num_experts", num_experts);
    f.required("top_k", top_k);
    f("kernel_initializer", kernel_initializer);
    f("router_aux_loss_coefficient", router_aux_loss_coefficient);
  }
  void build(Weights&, Call&) override {
    const auto dense = [&](const char* called, std::int64_t units) {
      return &make("Dense", called, std::string("_") + called,
                   {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
    };
    router_ = dense("router_gate", num_experts);
    make_experts("Qwen3_5MoeExperts", "expert_bank");
    shared_expert_ = &make("Qwen3_5MoeMLP", "shared_expert", "shared_expert",
                           {{"intermediate_dim", shared_expert_intermediate_size.value},
                            {"hidden_dim", hidden_dim.value},
                            {"kernel_initializer", kernel_initializer.json}});
    shared_gate_ = dense("shared_expert_gate", 1);
  }

 private:
  Routing route(Call& call, const TensorPtr& rows) override {
    const TensorPtr logits = apply(call, *router_, {rows});
    return {expert_weights(Expression(call.builder(), logits->id), top_k, true), logits};
  }
  Expression completed(Call& call, const TensorPtr& rows, const Expression& sum) override {
    graph::Builder& b = call.builder();
    const Expression gate(b, apply(call, *shared_gate_, {rows})->id);
    const Expression shared(b, apply(call, *shared_expert_, {rows})->id);
    return sum + shared * gate.unary(graph::UnaryFn::sigmoid);
  }

  Positive shared_expert_intermediate_size;
  Number router_aux_loss_coefficient = 0.001;
  Layer* shared_expert_ = nullptr;
  Layer* shared_gate_ = nullptr;
};

/// The fields of the mixtures, which the blocks and the backbone have.
struct MixtureFields {
  Positive moe_intermediate_dim, shared_expert_intermediate_size, num_experts, top_k;
  Number router_aux_loss_coefficient = 0.001;

  void fields(Fields& f) {
    f.required("moe_intermediate_dim", moe_intermediate_dim);
    f.required("shared_expert_intermediate_size", shared_expert_intermediate_size);
    f.required("num_experts", num_experts);
    f.required("top_k", top_k);
  }
  [[nodiscard]] Json arguments() const {
    return {{"moe_intermediate_dim", moe_intermediate_dim.value},
            {"shared_expert_intermediate_size", shared_expert_intermediate_size.value},
            {"num_experts", num_experts.value},
            {"top_k", top_k.value},
            {"router_aux_loss_coefficient", router_aux_loss_coefficient.value}};
  }
};

class Qwen3_5MoeTransformerDecoder final : public Qwen3_5Block {
 private:
  void feed_forward_fields(Fields& f) override {
    mixture_.fields(f);
    f("router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient);
    f.ignored({"intermediate_dim"});
  }
  void make_feed_forward(std::int64_t hidden_dim) override {
    Json arguments = mixture_.arguments();
    arguments["hidden_dim"] = hidden_dim;
    arguments["kernel_initializer"] = kernel_initializer.json;
    mlp_ = &make("Qwen3_5MoeSparseMoeBlock", "sparse_moe_block", "mlp", std::move(arguments));
  }
  TensorPtr feed_forward(Call& call, const TensorPtr& x) override {
    const Arg results = call.lowering().apply(*mlp_, ArgList{x}, ArgDict{});
    return *(*results.as<ArgList>())[0].as<TensorPtr>();
  }

  MixtureFields mixture_;
  Layer* mlp_ = nullptr;
};

class Qwen3_5MoeBackbone final : public Qwen3_5Stack {
 public:
  Qwen3_5MoeBackbone() { intermediate_dim.value = 1; }  // blocks have none

 private:
  void feed_forward_fields(Fields& f) override { mixture_.fields(f); }
  void last_fields(Fields& f) override { f("router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient); }
  void assemble() override { assemble_stack("Qwen3_5MoeTransformerDecoder", mixture_.arguments()); }

  MixtureFields mixture_;
};

constexpr std::array kLayers = {
    ClassInfo{.name = "Qwen3_5MoeMLP", .make = make_layer<Qwen3_5MoeMlp>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = "Qwen3_5MoeExperts",
              .make = make_layer<QwenExperts>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = kQwenExpertsSymbols},
    ClassInfo{.name = "Qwen3_5MoeSparseMoeBlock",
              .make = make_layer<Qwen3_5MoeSparseMoeBlock>,
              .since = kAnyKeras,
              .module = kModule},
    ClassInfo{.name = "Qwen3_5MoeTransformerDecoder",
              .make = make_layer<Qwen3_5MoeTransformerDecoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<Qwen3_5MoeBackbone>("Qwen3_5MoeBackbone", "keras_hub.src.models.qwen3_5_moe.qwen3_5_moe_backbone"),
    model_record<Qwen3_5CausalLM>("Qwen3_5MoeCausalLM", "keras_hub.src.models.qwen3_5_moe.qwen3_5_moe_causal_lm"),
};

constexpr std::array kTokenizers = {qwen3_5_tokenizer("Qwen3_5MoeTokenizer")};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "qwen3_5_moe", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::qwen3_5_moe
