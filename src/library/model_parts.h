// The implementation of attn::Model.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attn/attn.h"
#include "attn/graph/graph.h"
#include "attn/keras/text_stage.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/model_text.h"

namespace attn {

struct Model::Parts {
  Parts(open::ModelText text, std::optional<std::string> file);

  /// Returns the graph for inspection; sizes that the model leaves open are unknown. Throws Error.
  [[nodiscard]] graph::Graph symbolic() const;

  open::ModelText source;           // read again to quantize the weights, and for a training
  std::optional<std::string> path;  // the file or folder; empty for a model from text
  open::LoadedModel loaded;
  /// Held while the model is lowered: its layers have state that belongs to the current lowering.
  std::mutex walked = {};
  // Computed on first use.
  std::optional<bool> encodes = {};  ///< whether it has text layers
  std::optional<std::vector<keras::TextOutput>> text_outputs = {};
};

/// Returns the options that the text was opened with.
[[nodiscard]] open::ReadingOptions reading_of(const open::ModelText& text);

/// Reads the text once more, for a run that may quantize its weights.
[[nodiscard]] open::LoadedModel loaded_for(const open::ModelText& text, const open::Execution& execution);

/// Converts the options. Throws Error (usage) if one is out of range.
[[nodiscard]] open::Execution execution_of(const RunOptions& options);

}  // namespace attn
