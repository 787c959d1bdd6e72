#include "model/trace_masks.h"

#include "model/lower.h"
#include "model/mask_recorder.h"
#include "model/model_lowering.h"

namespace attn::keras {

MaskTrace trace_masks(Functional& model) {
  MaskTrace trace;
  graph::Graph scratch;
  ModelLowering lowering(scratch, true);
  MaskRecorder recorder(scratch, trace);
  lowering.recorder = &recorder;
  const std::vector<TensorPtr> inputs = symbolic_inputs(model, lowering);
  const std::vector<Layer*> layers = model.input_layers();
  for (std::size_t i = 0; i < inputs.size(); ++i) recorder.add_input(inputs[i], layers[i]->name);
  model.run(lowering, inputs, false);
  recorder.finish();
  return trace;
}

}  // namespace attn::keras
