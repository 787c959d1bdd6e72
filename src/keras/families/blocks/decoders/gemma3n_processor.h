// The layer of Gemma 3n that looks up tokens, and puts the rows of images and sounds between them.
//
// Letters: B batch, T tokens, L layers, D width, P features of the input for each layer, I images or sounds of an
// entry. An image or a sound has R rows with E features. A spectrogram has S steps with F features.
#pragma once

#include <cstdint>
#include <vector>

#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma3n_model.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_gemma3n_embedder();

/// An encoder of images or sounds, with the tokens that have rows of their own in its embedder.
struct Gemma3nEncoder {
  LayerPtr encoder, embedder;
  Shape item;                         ///< an image (height, width, channels), or a sound (S,F), where S is unknown
  std::int64_t rows = 0;              ///< R
  double scale = 1.0;                 ///< of the encoder's results
  std::int64_t first = 0, count = 0;  ///< the embedder's tokens
  std::int64_t placeholder = 0;       ///< the token whose rows are those of images or sounds
};

/// Looks up tokens (B,T) for a text model. Returns the rows (B,T,D), and the inputs of the layers (B,T,L,P). With
/// `pixel_values` (B,I,height,width,channels), the rows of placeholders are those of the images, in order. With
/// `input_features` (B,I,S,F) and `input_features_mask` (B,I,S), true for padding, they are those of the sounds.
class Gemma3nProcessor final : public Layer {
 public:
  void fields(Fields& f) override;
  Arg call(Call& call) override;
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

  Gemma3nTextModel* model = nullptr;
  Gemma3nEncoder vision, audio;  ///< without an encoder for a model that reads no images, or no sounds

 private:
  [[nodiscard]] static Expression embedded(Call& call, const Gemma3nEncoder& encoder, const Expression& x);
  [[nodiscard]] static Expression with_tokens(Call& call, const Gemma3nEncoder& encoder, const Expression& own,
                                              const Expression& ids, const Expression& rows);
  [[nodiscard]] Expression image_rows(Call& call, const Expression& pixels) const;
  [[nodiscard]] Expression sound_rows(Call& call, const Expression& features, const Expression& mask) const;

  Opaque vision_encoder, embed_vision, audio_encoder, embed_audio, vision_soft_tokens_per_image,
      audio_soft_tokens_per_image, image_token_id, audio_token_id;
  Positive vocab_size_per_layer_input;
};

}  // namespace attn::keras
