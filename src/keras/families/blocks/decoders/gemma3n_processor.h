// The layer of Gemma 3n that looks up tokens, and puts the rows of images between them.
//
// Letters: B batch, T tokens, L layers, D width, P features of the input for each layer, I images of an entry, C cells
// of an image, E features of a cell.
#pragma once

#include <cstdint>
#include <vector>

#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma3n_model.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma3n_embedder();

/// The vision encoder, with the tokens that have rows of their own in the embedder.
struct Gemma3nVision {
  LayerPtr encoder, embedder;
  Shape image;                        ///< (height, width, channels)
  std::int64_t cells = 0;             ///< the rows of an image
  double scale = 1.0;                 ///< of the encoder's results
  std::int64_t first = 0, count = 0;  ///< the embedder's tokens
  std::int64_t placeholder = 0;       ///< the token whose rows are those of images
};

/// Looks up tokens (B,T) for a text model. Returns the rows (B,T,D), and the inputs of the layers (B,T,L,P). With
/// `pixel_values` (B,I,height,width,channels), the rows of placeholders are those of the images' cells, in order.
class Gemma3nProcessor final : public Layer {
 public:
  void fields(Fields& f) override;
  Arg call(Call& call) override;
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

  Gemma3nTextModel* model = nullptr;
  Gemma3nVision vision;  ///< without an encoder for a model that reads no images

 private:
  [[nodiscard]] TensorPtr embedded(Call& call, const Expression& x);
  [[nodiscard]] Expression with_image_tokens(Call& call, const Expression& ids, const Expression& rows);
  [[nodiscard]] Expression with_images(Call& call, const Expression& ids, const Expression& rows,
                                       const Expression& pixels);

  Opaque vision_encoder, embed_vision, audio_encoder, embed_audio, vision_soft_tokens_per_image,
      audio_soft_tokens_per_image, image_token_id, audio_token_id;
  Positive vocab_size_per_layer_input;
};

}  // namespace attn::keras
