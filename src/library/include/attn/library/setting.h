// The setting of a report: the model, the device and the options that its results depend on.
#pragma once

#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"
#include "attn/report/values.h"

namespace attn::library {

/// Returns the setting of results that this graph computes.
[[nodiscard]] report::Setting setting_of(const std::string& model, const graph::Graph& graph,
                                         const backends::Backend& backend, const open::Execution& execution);

/// Returns the setting of results that this graph computes, with the origin of the model's weights.
[[nodiscard]] report::Setting setting_of(const open::LoadedModel& loaded, const graph::Graph& graph,
                                         const backends::Backend& backend, const open::Execution& execution);

/// Describes the inputs, in the order of graph.inputs.
[[nodiscard]] std::vector<report::InputReport> describe_inputs(const graph::Graph& graph,
                                                               const open::GivenInputs& given);

}  // namespace attn::library
