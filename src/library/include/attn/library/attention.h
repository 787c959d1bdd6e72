// The attention weights of a model on an input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"
#include "attn/report/heatmap.h"

namespace attn::library {

/// Selects attention heads, and has the labels of their positions.
struct Heads {
  std::optional<std::string> layer;  ///< the name of an attention layer, or its index among them
  std::optional<int> head;
  std::int64_t item = 0;            ///< index in the batch
  std::vector<std::string> labels;  ///< files with one position name per line
  bool log_scale = false;
};

/// Returns the options of the maps for scores of these layouts.
using Limits = std::function<run::MapOptions(const std::vector<run::ScoresLayout>&)>;

/// Runs the model up to the requested heads. Throws Error: (bad_input) for a model without attention, (usage) for a
/// layer, head or item that does not exist.
[[nodiscard]] report::HeatmapReport attention_of(const open::LoadedModel& loaded, const open::Execution& execution,
                                                 const open::GivenInputs& given, const Heads& heads,
                                                 const Limits& limits, const open::Listener& listener);

/// Returns whether the model has an attention layer.
[[nodiscard]] bool has_attention(const keras::Model& model, const keras::LowerOptions& options);

}  // namespace attn::library
