// The setting of a report: with which model, device and options its numbers were made.
#pragma once

#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"
#include "attn/report/values.h"

namespace attn::library {

/// The setting in which the numbers of this graph were made.
[[nodiscard]] report::Setting setting_of(const std::string& model, const graph::Graph& graph,
                                         const backends::Backend& backend, const open::Execution& execution);

/// The setting in which the numbers of this graph were made, with the origin of the model's weights.
[[nodiscard]] report::Setting setting_of(const open::LoadedModel& loaded, const graph::Graph& graph,
                                         const backends::Backend& backend, const open::Execution& execution);

/// The inputs, in the order of graph.inputs.
[[nodiscard]] std::vector<report::InputReport> describe_inputs(const graph::Graph& graph,
                                                               const open::GivenInputs& given);

}  // namespace attn::library
