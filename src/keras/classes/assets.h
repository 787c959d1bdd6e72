// The data that an archive stores for a layer besides its config and variables.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attn/base/tensor.h"

namespace attn::keras {

/// The assets of one layer. Files and arrays are loaded when a layer requests them.
struct Assets {
  std::string place;  ///< place of the assets for messages: "model.keras:assets/layers/…/"
  std::function<std::optional<std::string>(const std::string&)> text;  ///< reads a file by name: "vocabulary.txt"
  std::function<std::optional<Tensor>(const std::string&)> array;      ///< reads an array by its name after "vars/":
                                                                       ///< "idf_weights"
};

}  // namespace attn::keras
