#include "ranks/fingerprints.h"

#include <algorithm>
#include <utility>

#include "attn/io/sha256.h"

namespace attn::cli {

Fingerprint fingerprint_of(std::string name, const std::string& text) {
  return {std::move(name), io::sha256(std::as_bytes(std::span(text)))};
}

Fingerprint fingerprint_of(std::string name, std::span<const Tensor> tensors) {
  constexpr std::int64_t kSamples = 64;
  std::string text;
  for (const Tensor& tensor : tensors) {
    const std::int64_t step = std::max<std::int64_t>(1, tensor.size() / kSamples);
    for (std::int64_t i = 0; i < tensor.size(); i += step) {
      const std::int64_t bytes = bytes_of(tensor.dtype());
      text.append(reinterpret_cast<const char*>(tensor.data() + i * bytes), static_cast<std::size_t>(bytes));
    }
  }
  return fingerprint_of(std::move(name), text);
}

}  // namespace attn::cli
