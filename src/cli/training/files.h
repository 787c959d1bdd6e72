// The files that `attn train` takes arrays from.
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

  /// --data, --x, --y, --sample-weight and --csv-target.
  void declare(Options& options);
  /// All of them as read_data takes them: FILE, or NAME=FILE. Throws Error (usage) where there is none, and
  /// for an input without a name of a model that has several.
  [[nodiscard]] std::vector<std::string> words(const keras::Model& model) const;
};

}  // namespace attn::cli
