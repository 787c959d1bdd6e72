// A model under study: its backend, its passes, its prompts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/attn.h"
#include "attn/library/probe_prompts.h"
#include "attn/open/model_text.h"
#include "attn/probe/subject.h"
#include "attn/report/probe_view.h"

namespace attn::library {

/// The questions are the functions of attn/probe. Not thread-safe.
class Probe {
 public:
  /// Reads the model again, so that it may outlive `model`. Throws Error.
  Probe(const Model& model, const RunOptions& options);

  [[nodiscard]] const probe::Subject& subject() const { return *subject_; }
  [[nodiscard]] const ProbePrompts& prompts() const { return *prompts_; }

 private:
  open::Execution execution_;
  std::unique_ptr<backends::Backend> backend_;
  open::LoadedModel loaded_;
  std::unique_ptr<probe::Subject> subject_;
  std::unique_ptr<ProbePrompts> prompts_;
};

/// Returns the points with their shapes. Sizes that differ between prompts are letters.
[[nodiscard]] std::vector<report::ListedPoint> listed_points(const probe::Subject& subject);

}  // namespace attn::library
