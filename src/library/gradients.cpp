#include <mutex>
#include <utility>

#include "attn/attn.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"
#include "attn/run/memory.h"
#include "attn/run/session.h"
#include "attn/train/loss_gradients.h"
#include "attn/train/read_data.h"
#include "model_parts.h"

namespace attn {

Gradients Model::gradients(const std::map<std::string, Tensor>& data, const GradientOptions& how,
                           const RunOptions& options) const {
  const open::Execution execution = execution_of(options);
  const auto backend = open::open_backend(options.device, options.backend, open::kSilent);
  const train::GradientRequest request{how.loss, {}, how.training, how.dropout, how.input_gradients, how.wrt};
  const std::lock_guard lock(parts_->walked);
  const open::LoadedModel& loaded = parts_->loaded;
  open::GivenInputs given = train::named_data(loaded.model, data);
  const keras::LossGraph lowered = train::lower_loss(loaded, given, execution, request, options.dtype);
  train::expect_labels(lowered, given);
  train::expect_indices(lowered.graph, given);
  train::complete_arrays(lowered, options.seed, given);
  const std::vector<train::WantedGradient> wanted = train::wanted_gradients(lowered.graph, loaded.model, request);
  graph::Graph backward = train::with_gradients(lowered, wanted);
  const std::vector<Tensor> inputs = run::make_inputs(backward, given.arrays, options.seed);
  run::require_memory("the gradients take",
                      static_cast<UInt128>(run::memory_needed(*backend, backward, execution.compile_options())),
                      open::memory_limit(options.memory_limit));
  run::Session session(*backend, std::move(backward), open::load_weights(loaded, execution, open::kSilent),
                       execution.compile_options());
  session.run(inputs);
  Gradients out;
  const std::vector<NamedTensor> results = train::named_gradients(session.outputs(), lowered, wanted);
  out.loss = results.front().tensor.at(0);
  for (std::size_t i = 1; i < results.size(); ++i)  // copies, because the memory of the session ends with it
    out.gradients.push_back({results[i].name, results[i].tensor.cast(results[i].tensor.dtype())});
  return out;
}

}  // namespace attn
