// Runs a model on arrays of any number of rows, some rows at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/open/texts.h"
#include "attn/run/output_names.h"
#include "attn/run/session.h"

namespace attn::open {

/// Owns the weights, and a session for each of the last few shapes. Not thread-safe.
class RowRunner {
 public:
  /// Reads or draws the weights. Throws Error.
  RowRunner(const std::optional<std::string>& model, const Execution& execution, const Listener& listener);

  struct Result {
    Outputs outputs;
    std::int64_t rows = 0;
  };
  /// Returns the outputs for the arrays of one file. If execution.batch is given, that number of rows runs at a time,
  /// otherwise all rows run at once. Throws Error if the arrays do not fit the model, and Stopped.
  [[nodiscard]] Result run(const std::string& file);
  /// Returns the results of one pass for arrays that are keyed by input. Throws Error, and Stopped.
  [[nodiscard]] std::vector<NamedTensor> run_rows(const std::map<std::string, Tensor>& arrays);

  [[nodiscard]] const LoadedModel& loaded() const { return loaded_; }

 private:
  [[nodiscard]] Outputs decoded(const std::vector<NamedTensor>& outputs) const;
  [[nodiscard]] graph::Graph lowered(const keras::LowerOptions& how);
  Execution execution_;
  const Listener& listener_;
  std::unique_ptr<backends::Backend> backend_;
  LoadedModel loaded_;
  std::vector<keras::TextOutput> texts_ = loaded_.model.text_outputs();
  std::vector<Tensor> weights_;
  run::OutputNames names_;
  bool has_warned_ = false;  ///< whether the user was warned of arrays that no input takes
  // The sessions by the shapes of their inputs, the most recent one last.
  std::vector<std::pair<std::map<std::string, Shape>, std::unique_ptr<run::Session>>> sessions_;
};

}  // namespace attn::open
