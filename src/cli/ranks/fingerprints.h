// Hashes that ranks compare before they compute: model, data and options must be equal on all ranks.
#pragma once

#include <span>
#include <string>

#include "attn/base/tensor.h"

namespace attn::cli {

struct Fingerprint {
  std::string name;  ///< the subject of "rank 1 has not the same model"
  std::string hash;  ///< 64 hexadecimal digits
};

[[nodiscard]] Fingerprint fingerprint_of(std::string name, const std::string& text);
/// Returns a hash of a few sampled numbers of every array. Different files almost always differ in it.
[[nodiscard]] Fingerprint fingerprint_of(std::string name, std::span<const Tensor> tensors);

}  // namespace attn::cli
