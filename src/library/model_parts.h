// The inside of attn::Model.
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

  /// The graph for inspection, where sizes that the model leaves open are unknown. Throws Error.
  [[nodiscard]] graph::Graph symbolic() const;

  open::ModelText source;           // read again where weights are quantized, and for a training
  std::optional<std::string> path;  // the file or folder, if there is one
  open::LoadedModel loaded;
  /// Lowering a model walks its layers, which hold the request's state meanwhile: one thread at a time.
  std::mutex walked = {};
  // Computed on first use.
  std::optional<bool> encodes = {};  ///< whether it has text layers
  std::optional<std::vector<keras::TextOutput>> text_outputs = {};
};

/// The options that were put into the text when it was opened.
[[nodiscard]] open::Reading reading_of(const open::ModelText& text);

/// Throws Error (usage) for an option out of range.
[[nodiscard]] open::Execution execution_of(const RunOptions& options);

}  // namespace attn
