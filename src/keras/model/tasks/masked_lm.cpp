// keras_hub.models.MaskedLM: an encoder, and logits for the masked tokens of its input.
#include <array>

#include "classes/reading.h"
#include "model/tasks/task.h"

namespace attn::keras {
namespace {

/// The differences between families.
struct Head {
  std::string_view sequence;  ///< the key of the backbone's result that is read; "" if there is a single result
  bool tanh_gelu = false;
};

constexpr Head kBert{"sequence_output"}, kAlbert{"sequence_output", true}, kPlain{""};

class MaskedLM : public Task {
 public:
  explicit MaskedLM(const Head* head) : head_(*head) {}

 protected:
  [[nodiscard]] std::string_view kind() const override { return "MaskedLM"; }
  void assemble() override {
    const TensorRef sequence = backbone_result(head_.sequence);
    const TensorRef positions = input("mask_positions", {kUnknown, kUnknown}, DType::int32);
    ArgDict inputs = *input_struct.as<ArgDict>();
    inputs.emplace_back("mask_positions", positions);
    input_struct = inputs;

    // The head shares the backbone's embedding; in a config, both have the same shared-object id.
    constexpr std::int64_t kId = 1;
    Layer& embedding = token_embedding();
    Json shared = layer_json(embedding, kNewest);
    shared["shared_object_id"] = kId;
    Layer& mlm_head = layer("MaskedLMHead", "mlm_head",
                            {{"vocabulary_size", backbone_size("vocabulary_size")},
                             {"token_embedding", std::move(shared)},
                             {"intermediate_activation", head_.tanh_gelu ? gelu_approximate() : Json("gelu")},
                             {"kernel_initializer", normal_initializer("TruncatedNormal", 0.02)}});
    mlm_head.share({{kId, &embedding}});
    output_struct = call(mlm_head, {sequence, positions});
  }

 private:
  const Head& head_;
};

template <const Head* kHead>
constexpr ClassInfo row(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_with<MaskedLM, kHead>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::model,
          .package = "keras_hub"};
}

}  // namespace

Family masked_lm_tasks() {
  static constexpr std::array kRows = {
      row<&kBert>("BertMaskedLM", "keras_hub.src.models.bert.bert_masked_lm"),
      row<&kAlbert>("AlbertMaskedLM", "keras_hub.src.models.albert.albert_masked_lm"),
      row<&kPlain>("DistilBertMaskedLM", "keras_hub.src.models.distil_bert.distil_bert_masked_lm"),
      row<&kPlain>("RobertaMaskedLM", "keras_hub.src.models.roberta.roberta_masked_lm"),
      row<&kPlain>("XLMRobertaMaskedLM", "keras_hub.src.models.xlm_roberta.xlm_roberta_masked_lm"),
  };
  return kRows;
}

}  // namespace attn::keras
