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

  /// Returns all files in the form of read_data: FILE, or NAME=FILE. Throws Error (usage) if there is no file, or if
  /// the model has several inputs and a file of `x` has no name.
  [[nodiscard]] std::vector<std::string> words(const keras::Model& model) const;
};

}  // namespace attn::train
