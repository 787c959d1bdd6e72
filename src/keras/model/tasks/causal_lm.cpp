// keras_hub.models.CausalLM: a decoder, and its token embedding in reverse for logits.
#include <array>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "model/decodes.h"
#include "model/tasks/task.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// KerasHub's errors in single-token decode steps.
enum class Fault : std::uint8_t {
  none,
  query_at_zero,  ///< GPTNeoXAttention.call applies rotary positions without start_index (keras-hub pull request 2870)
  short_factors   ///< Phi3SuScaledRotaryEmbedding uses the length of each call
};

class CausalLM : public Task, public Decodes {
 public:
  explicit CausalLM(Fault fault) : fault_(fault) {}
  [[nodiscard]] Decoded decode(Lowering& lowering, ValueId token_ids, bool every_position) override {
    graph::Builder& b = lowering.builder();
    const Shape shape = b.shape(token_ids);
    const ValueId all = b.apply(graph::Fill{shape, DType::int32, 1.0}, {});
    const ArgDict inputs = {{"token_ids", Call::result(token_ids)}, {"padding_mask", Call::result(all)}};
    const ValueId hidden = (*lowering.apply(backbone(), ArgList{inputs}, ArgDict{}).as<TensorPtr>())->id;
    ValueId asked = hidden;
    if (!every_position) {
      graph::Slice last;
      last.ranges = {{}, {shape[1] - 1, shape[1], 1}, {}};
      asked = b.apply(last, {hidden});
    }
    const Arg logits = lowering.apply(token_embedding(), ArgList{Call::result(asked)}, ArgDict{{"reverse", true}});
    return {(*logits.as<TensorPtr>())->id, hidden};
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "CausalLM"; }
  void assemble() override { output_struct = reverse_embedding(backbone_result()); }
  [[nodiscard]] std::string keras_hub_error() override {
    if (fault_ == Fault::query_at_zero) return "turns the query of each new token as if it were the first";
    if (fault_ == Fault::short_factors && !backbone_lacks("rope_scaling_type"))
      return "turns new tokens by the short factors and the prompt before them by the long ones";
    return "";
  }

 private:
  Fault fault_;
};

template <Fault kFault = Fault::none>
constexpr ClassInfo row(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_with<CausalLM, kFault>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::model,
          .package = "keras_hub"};
}

}  // namespace

Family causal_lm_tasks() {
  static constexpr std::array kRows = {
      row<>("BloomCausalLM", "keras_hub.src.models.bloom.bloom_causal_lm"),
      row<>("FalconCausalLM", "keras_hub.src.models.falcon.falcon_causal_lm"),
      row<>("GPT2CausalLM", "keras_hub.src.models.gpt2.gpt2_causal_lm"),
      row<Fault::query_at_zero>("GPTNeoXCausalLM", "keras_hub.src.models.gpt_neo_x.gpt_neo_x_causal_lm"),
      row<>("Gemma3CausalLM", "keras_hub.src.models.gemma3.gemma3_causal_lm"),
      row<>("GemmaCausalLM", "keras_hub.src.models.gemma.gemma_causal_lm"),
      row<>("Llama3CausalLM", "keras_hub.src.models.llama3.llama3_causal_lm"),
      row<>("LlamaCausalLM", "keras_hub.src.models.llama.llama_causal_lm"),
      row<>("MistralCausalLM", "keras_hub.src.models.mistral.mistral_causal_lm"),
      row<>("MixtralCausalLM", "keras_hub.src.models.mixtral.mixtral_causal_lm"),
      row<>("OPTCausalLM", "keras_hub.src.models.opt.opt_causal_lm"),
      row<Fault::short_factors>("Phi3CausalLM", "keras_hub.src.models.phi3.phi3_causal_lm"),
      row<>("Qwen3CausalLM", "keras_hub.src.models.qwen3.qwen3_causal_lm"),
      row<>("QwenCausalLM", "keras_hub.src.models.qwen.qwen_causal_lm"),
      row<>("SmolLM3CausalLM", "keras_hub.src.models.smollm3.smollm3_causal_lm"),
  };
  return kRows;
}

}  // namespace attn::keras
