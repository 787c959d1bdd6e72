// Images and sounds in prompts: files become arrays, marks become placeholder tokens, and a decoder gets both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/generate/decoder.h"
#include "attn/generate/media.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

/// The files of all prompts, in their order.
struct MediaFiles {
  std::vector<std::string> images, audio;
};

/// The images and sounds of prompts, for a model that may read none.
class PromptMedia {
 public:
  PromptMedia() = default;
  /// Reads and converts files. Throws Error, also if the model reads none of their kind, or if its prompts begin with
  /// an image and there is none.
  PromptMedia(const open::LoadedModel& loaded, const MediaFiles& files, const open::Execution& execution,
              const open::Listener& listener);

  [[nodiscard]] bool is_empty() const;
  /// Returns whether there are images of any size: decode steps do not read them.
  [[nodiscard]] bool reads_whole_sequences() const;
  [[nodiscard]] const std::vector<Media>& kinds() const { return kinds_; }

  /// Encodes the next prompt as KerasHub's preprocessor does: each mark becomes as many placeholders as its item has. A
  /// mark without an item is counted too.
  [[nodiscard]] std::vector<Token> encoded(std::string_view text, const tokenizers::Tokenizer& tokenizer,
                                           const tokenizers::EncodeOptions& options);

  /// Finds the items in the tokens of the prompts. `tokenizer` made the tokens; null if they were given as ids. Throws
  /// Error (usage) if the prompts have another number of marks, or end within an item.
  void find(const std::vector<std::vector<Token>>& prompts, const tokenizers::Tokenizer* tokenizer);

  /// Returns the further inputs of a decoder's first step, which reads all prompts whole; nothing without items. Throws
  /// Error (usage) if the prompts have different lengths.
  [[nodiscard]] std::vector<NamedTensor> arrays(const std::vector<std::vector<Token>>& prompts) const;

 private:
  std::vector<Media> kinds_;
};

}  // namespace attn::generate
