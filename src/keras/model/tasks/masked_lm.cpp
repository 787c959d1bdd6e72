#include "model/tasks/masked_lm.h"

#include "classes/reading.h"

namespace attn::keras {

void MaskedLM::assemble() {
  const TensorRef sequence = backbone_result(sequence_);
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
                           {"intermediate_activation", tanh_gelu_ ? gelu_approximate() : Json("gelu")},
                           {"kernel_initializer", normal_initializer("TruncatedNormal", 0.02)}});
  mlm_head.share({{kId, &embedding}});
  output_struct = call(mlm_head, {sequence, positions});
}

}  // namespace attn::keras
