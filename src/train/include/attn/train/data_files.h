// The files of the arrays that a model is trained on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/model.h"

namespace attn::train {

struct DataFiles {
  std::vector<std::string> data, x, y, sample_weights;
  std::optional<std::string> csv_target;

  /// Returns all files in the form of read_data: FILE, or NAME=FILE. Throws Error (usage) if there is none, and
  /// for an input without a name of a model that has several.
  [[nodiscard]] std::vector<std::string> words(const keras::Model& model) const;
};

}  // namespace attn::train
