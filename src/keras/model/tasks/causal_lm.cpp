// keras_hub.models.CausalLM: a decoder, and its token embedding turned around for logits.
#include <array>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "model/decodes.h"
#include "model/tasks/task.h"

namespace attn::keras {
namespace {

using graph::ValueId;

class CausalLM : public Task, public Decodes {
 public:
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
};

}  // namespace

Family causal_lm_tasks() {
  static constexpr std::array kRows = {
      ClassInfo{.name = "GPT2CausalLM",
                .make = make_layer<CausalLM>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.gpt2.gpt2_causal_lm",
                .role = Role::model,
                .package = "keras_hub"},
  };
  return kRows;
}

}  // namespace attn::keras
