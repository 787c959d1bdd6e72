// Generates the tokens of a window of sound.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/generate/cached_decoder.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "search.h"

namespace attn::transcribe {

/// A decoder that is opened for the first window, and again for a window of another length.
class WindowDecoder {
 public:
  /// `capacity`: maximum tokens of a window; `prompt`: the longest prompt. The other arguments must outlive this.
  /// Throws Error (bad_input) unless the capacity exceeds the prompt.
  WindowDecoder(const backends::Backend& backend, const open::LoadedModel& loaded, const open::Execution& execution,
                const open::Listener& listener, Dim capacity, Dim branches, Dim prompt);

  /// Throws Error (bad_input) if the model does not read features of this length and width, which a converter of
  /// `source` makes.
  void require(const Shape& features, const std::string& source) const;

  /// Returns the maximum length of a sequence, including `prompt` tokens, with at most `max_new_tokens` after them.
  [[nodiscard]] Dim max_length(Dim prompt, std::optional<std::int64_t> max_new_tokens) const;
  /// Returns the result of a search for the encoder's features (1, length, width).
  [[nodiscard]] std::vector<Token> decode(const Tensor& features, const Search& how);
  /// Returns the logits of the token after the prompt.
  [[nodiscard]] std::vector<float> next(const Tensor& features, const std::vector<Token>& prompt);

 private:
  void encode(const Tensor& features);

  const backends::Backend& backend_;
  const open::LoadedModel& loaded_;
  const open::Execution& execution_;
  const open::Listener& listener_;
  Dim capacity_, branches_, prompt_;
  Shape heard_;
  std::unique_ptr<generate::CachedDecoder> decoder_;
};

}  // namespace attn::transcribe
