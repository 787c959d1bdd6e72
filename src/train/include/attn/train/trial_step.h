// A trial step of a model's own optimizer.
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

/// Returns, by the path of each trainable weight, √Σ(Δw)² of the next step on these numbers. `inputs` has one tensor
/// for each input of `lowered`. The optimizer is the one with which the model was compiled, continued from the archive.
/// Returns nothing if the model was never compiled, its optimizer is unknown, or weights are not float32. If memory is
/// too small for the step, returns nothing and gives a note.
[[nodiscard]] std::map<std::string, double> update_norms(
    const open::LoadedModel& loaded, const keras::LossGraph& lowered, const std::vector<Tensor>& inputs,
    const std::vector<Tensor>& weights, const backends::Backend& backend, const open::Execution& execution,
    const open::Listener& listener);

}  // namespace attn::train
