// One vector for each text, computed by a TextEmbedder of KerasHub.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/row_runner.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::open {

/// The tokens of a text, including the start and the end token.
struct EmbeddedText {
  std::vector<tokenizers::Id> ids;
  bool is_cut = false;  ///< whether tokens at the end were left out, because the text is too long
};

/// A model with its tokenizer. Not thread-safe.
class TextEmbedder {
 public:
  /// Reads or draws the weights. execution.batch is the number of texts that run at a time, execution.sequence_length
  /// replaces the length in the model's preprocessor. `prompt_name` selects a prompt of sentence-transformers to write
  /// before each text, in place of the model's default. Throws Error (bad_input) if the model is not a TextEmbedder or
  /// has no tokenizer, and Error (usage) if the length exceeds the model's positions, or if there is no such prompt.
  TextEmbedder(const std::string& model, const Execution& execution, const std::optional<std::string>& prompt_name,
               const Listener& listener);

  /// Returns the tokens of a text as KerasHub's preprocessor or sentence-transformers packs them. Throws Error (usage)
  /// for invalid UTF-8.
  [[nodiscard]] EmbeddedText tokens_of(std::string_view text) const;
  /// Returns the vectors (texts, D) in float32. Throws Error, and Stopped.
  [[nodiscard]] Tensor embed(std::span<const EmbeddedText> texts);

  [[nodiscard]] const LoadedModel& loaded() const { return runner_.loaded(); }
  [[nodiscard]] const tokenizers::Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  /// The special tokens in front of a text and behind it.
  struct Around {
    std::vector<tokenizers::Id> start, end;
  };
  [[nodiscard]] Around around() const;
  /// Returns the vectors (rows, D) of a few texts, padded to the same length.
  [[nodiscard]] Tensor embed_batch(std::span<const EmbeddedText* const> texts);

  const Listener& listener_;
  RowRunner runner_;
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::int64_t batch_, length_ = 0;
  std::string prompt_;  // written before each text
  Around around_;
  bool has_segments_;
  /// Whether the model is a folder of sentence-transformers. Its padding is behind the tokens of a text; with KerasHub,
  /// it is wherever the padding token is.
  bool is_of_transformers_ = false;
};

}  // namespace attn::open
