#include "model/tasks/masked_lm.h"

#include <utility>

#include "classes/reading.h"

namespace attn::keras {

MaskedLM::LogitsLayer MaskedLM::logits_layer() {
  Json activation = tanh_gelu_ ? gelu_approximate() : Json("gelu");
  if (const Json config = layer_config(backbone(), kNewest); sequence_ == kSequenceOutput)
    activation = config.value("activation", activation);  // a model of transformers has one
  return {"MaskedLMHead",
          {{"intermediate_activation", std::move(activation)},
           {"kernel_initializer", normal_initializer("TruncatedNormal", 0.02)}}};
}

void MaskedLM::assemble() {
  const TensorRef sequence = backbone_result(sequence_);
  const TensorRef positions = input("mask_positions", {kUnknown, kUnknown}, DType::int32);
  ArgDict inputs = *input_struct.as<ArgDict>();
  inputs.emplace_back("mask_positions", positions);
  input_struct = inputs;

  LogitsLayer made = logits_layer();
  made.arguments["vocabulary_size"] = backbone_size("vocabulary_size");
  // The head shares the backbone's embedding; in a config, both have the same shared-object id.
  constexpr std::int64_t kId = 1;
  Layer* const embedding = made.shares_embedding ? &token_embedding() : nullptr;
  if (embedding != nullptr) {
    Json shared = layer_json(*embedding, kNewest);
    shared["shared_object_id"] = kId;
    made.arguments["token_embedding"] = std::move(shared);
  }
  Layer& mlm_head = layer(made.class_name, "mlm_head", std::move(made.arguments));
  if (embedding != nullptr) mlm_head.share({{kId, embedding}});
  output_struct = call(mlm_head, {sequence, positions});
}

}  // namespace attn::keras
