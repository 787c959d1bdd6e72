// Images of any size in prompts. The vision encoder reads each image once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/generate/decoder.h"
#include "attn/keras/image_prompt.h"
#include "attn/open/execution.h"
#include "attn/open/image_converter.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

/// The place of an image in the prompts.
struct SeenImage {
  Dim prompt = 0, position = 0;  ///< its prompt, and the position of its first token there
  Dim rows = 0, columns = 0;     ///< the grid of its tokens
  Dim first = 0;                 ///< its first row among those of all images

  [[nodiscard]] Dim tokens() const { return rows * columns; }
};

/// The images of all prompts.
struct SeenImages {
  Tensor rows;                    ///< (K,D) float32: what the encoder returns for the images, in order
  std::vector<SeenImage> images;  ///< in the order of the prompts

  /// Returns the graph's inputs image_embeddings, vision_indices and position_ids, for `prompts` prompts of `length`
  /// tokens with `branches` rows each; nothing without images.
  [[nodiscard]] std::vector<NamedTensor> arrays(Dim prompts, Dim branches, Dim length) const;
};

/// Encodes prompts with marks of images as KerasHub's preprocessors do. Images of any size are counted over all
/// prompts, and each mark becomes as many tokens as its image has; a mark without an image stays one token.
class ImageMarks {
 public:
  /// `how` is empty for a model without images. `images` are those of any size, which must outlive this.
  ImageMarks(std::optional<keras::ImagePrompt> how, const std::vector<open::PatchImage>& images)
      : how_(how), images_(images) {}
  [[nodiscard]] std::vector<Token> encoded(std::string_view text, const tokenizers::Tokenizer& tokenizer,
                                           const tokenizers::EncodeOptions& options);

 private:
  std::optional<keras::ImagePrompt> how_;
  const std::vector<open::PatchImage>& images_;
  std::size_t next_ = 0;
};

/// Finds the images in the tokens of prompts, and runs the vision encoder on each. `tokenizer` made the tokens; null if
/// they were given as ids. Throws Error, also if the prompts have another number of images.
[[nodiscard]] SeenImages see_images(const backends::Backend& backend, const open::LoadedModel& loaded,
                                    const std::vector<open::PatchImage>& images,
                                    const std::vector<std::vector<Token>>& prompts,
                                    const tokenizers::Tokenizer* tokenizer, const open::Execution& execution,
                                    const open::Listener& listener);

}  // namespace attn::generate
