// What an archive keeps of a layer beside its config and its variables.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attn/base/tensor.h"

namespace attn::keras {

/// Of one layer. Files and arrays are asked for where a layer wants them.
struct Assets {
  std::string place;  ///< for messages: "model.keras:assets/layers/…/"
  std::function<std::optional<std::string>(const std::string&)> text;  ///< a file by its name: "vocabulary.txt"
  std::function<std::optional<Tensor>(const std::string&)> array;      ///< behind "vars/": "idf_weights"
};

}  // namespace attn::keras
