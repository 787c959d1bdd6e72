// The vectors of texts and their similarities, as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/report/format.h"

namespace attn::report {

struct EmbeddedText {
  std::string text;
  std::int64_t tokens = 0;  ///< including the start and the end token
  bool is_cut = false;      ///< whether tokens at the end were left out
};

/// Largest number of texts whose similarities a report has.
constexpr std::size_t kMostCompared = 1000;

struct EmbedReport {
  std::string path, class_name, tokenizer;  ///< path and class of the model, and class of the tokenizer
  std::string weights;                      ///< source of the weights
  std::vector<EmbeddedText> texts;
  Tensor vectors;  ///< (texts, D), float32

  /// Returns whether the report has the similarities: their number is quadratic in the number of texts.
  [[nodiscard]] bool compares() const { return texts.size() <= kMostCompared; }
  /// Returns the dot product of two texts' vectors, as KerasHub's `similarity`: a cosine if the model normalizes.
  [[nodiscard]] double similarity(std::size_t one, std::size_t other) const;
};

/// table: the similarity of each pair for a few texts, otherwise the most similar other text of each text. json:
/// "attn.embed/1", with the vectors. Above kMostCompared texts, both leave out the similarities.
[[nodiscard]] std::string render(Format format, const EmbedReport& report);

}  // namespace attn::report
