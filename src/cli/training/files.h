// The data files of `attn train`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/model.h"
#include "options/options.h"

namespace attn::cli {

struct TrainingFiles {
  std::vector<std::string> data, x, y, sample_weights;
  std::optional<std::string> csv_target;

  /// Adds --data, --x, --y, --sample-weight and --csv-target.
  void declare(Options& options);
  /// Returns all files in the form of read_data: FILE, or NAME=FILE. Throws Error (usage) if there is none, and for a
  /// model with several inputs if an input has no name.
  [[nodiscard]] std::vector<std::string> words(const keras::Model& model) const;
};

}  // namespace attn::cli
