// Facts that ranks must agree on before they compute together.
#pragma once

#include <span>
#include <string>

#include "attn/base/tensor.h"

namespace attn::cli {

struct Fact {
  std::string name;  ///< "model", as in "rank 1 has not the same model"
  std::string hash;  ///< 64 digits
};

[[nodiscard]] Fact fact_of(std::string name, const std::string& text);
/// Returns a hash of a few numbers of every array, by which files with other numbers differ.
[[nodiscard]] Fact fact_of(std::string name, std::span<const Tensor> tensors);

}  // namespace attn::cli
