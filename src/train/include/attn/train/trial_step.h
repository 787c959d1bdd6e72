// One step of a model's own optimizer, for what it would do.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/keras/loss_graph.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/run/inputs.h"

namespace attn::train {

/// By the path of each trainable weight, √Σ(Δw)² of the next step on these numbers, one tensor for each input of
/// `lowered`: by the optimizer that the model was compiled with, which goes on where the archive left it. Nothing
/// where the model was never compiled, where its optimizer is not known, where weights are not float32, and where there
/// is no memory for the step, which is noted.
[[nodiscard]] std::map<std::string, double> update_norms(
    const open::LoadedModel& loaded, const keras::LossGraph& lowered, const std::vector<Tensor>& inputs,
    const std::vector<Tensor>& weights, const backends::Backend& backend, const open::Execution& execution,
    const open::Listener& listener);

}  // namespace attn::train
