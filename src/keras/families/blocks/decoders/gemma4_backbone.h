// The backbone of Gemma 4 (keras_hub/src/models/gemma4/gemma4_backbone.py).
//
// Letters: B batch, T tokens, D width, L layers, P features of the input for each layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/blocks/decoders/gemma_backbone.h"
#include "families/blocks/images/gemma4_vision.h"
#include "families/blocks/sound/gemma4_audio.h"
#include "model/sized_inputs.h"

namespace attn::keras {

/// Blocks with a window are followed by one without, in the order of layer_types. The last blocks share the keys and
/// values of earlier ones. Each block may have an input of its own, from a second embedding and a projection of the
/// first. With encoders, images and sounds stand between the tokens.
class Gemma4Backbone final : public GemmaFamilyBackbone, public SizedInputs {
 public:
  Gemma4Backbone() {
    use_sliding_window_attention = true;
    sliding_window_size = 512;
  }
  void fields(Fields& f) override;
  /// Returns the vision encoder; null for a model without images.
  [[nodiscard]] const Gemma4VisionEncoder* encoder() const {
    return dynamic_cast<const Gemma4VisionEncoder*>(vision_encoder_.get());
  }
  /// Returns the audio encoder; null for a model without sounds.
  [[nodiscard]] const Gemma4AudioEncoder* audio_encoder() const {
    return dynamic_cast<const Gemma4AudioEncoder*>(audio_encoder_.get());
  }
  /// Without arrays, there are one square image and one short sound.
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override;
  /// Lowers a decode step of new tokens (B,T), and returns their hidden states (B,T,D). A step that reads images or
  /// sounds has further inputs. Throws Error (bad_input) if one of them has more positions than rows.
  [[nodiscard]] graph::ValueId decode(Lowering& lowering, graph::ValueId token_ids);

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  static constexpr std::int64_t kMostPerLayer = 1 << 20;

  /// Without types, every layer whose number is divisible by the pattern has full attention.
  void layer_types(Fields& f);
  [[nodiscard]] bool is_global(std::int64_t i) const;
  /// Returns the layer whose keys and values layer i shares: the last one of its type in front of the layers that share
  /// keys. Without such a layer, it has its own.
  [[nodiscard]] std::optional<std::int64_t> source_of(std::int64_t i) const;
  [[nodiscard]] Json block_arguments(std::int64_t i) const;
  void make_layers();
  void check_encoders(const Ref& config) const;

  class Calls;
  class MemberCalls;
  class GraphCalls;
  /// Puts images into embedded tokens; `image` holds the inputs of the encoder. The rows of the encoder are not scaled
  /// as the tokens will be.
  [[nodiscard]] Arg with_images(Calls& calls, const Arg& texts, const ArgDict& image, const Arg& indices);
  /// Does the same with sounds, spectrograms with a mask of steps that are no padding.
  [[nodiscard]] Arg with_sounds(Calls& calls, const Arg& texts, const Arg& spectra, const Arg& valid,
                                const Arg& indices);
  /// Puts rows of an encoder (B,I,P,D) into embedded tokens by the layer `called`.
  [[nodiscard]] Arg interleaved(Calls& calls, std::string_view called, const Arg& rows, const Arg& texts,
                                const Arg& indices);
  /// Passes embedded tokens x (B,T,D) through the text model. `own_ids` are the tokens of the second embedding, and
  /// `how` are arguments of each block.
  [[nodiscard]] Arg through_text(Calls& calls, Arg x, const Arg& own_ids, const ArgDict& how);

  std::optional<Positive> image_size, global_head_dim, num_global_key_value_heads, vocab_size_per_layer_input,
      num_experts, expert_intermediate_dim;
  Positive sliding_window_pattern = 6, num_experts_per_token = 8;
  std::int64_t num_kv_shared_layers = 0, hidden_size_per_layer_input = 0;
  std::vector<std::string> layer_types_;
  Number local_rope_scaling_factor{1.0}, global_rope_scaling_factor{1.0}, global_rope_partial_rotary_factor{1.0};
  std::optional<Number> global_rope_wavelength, local_rope_wavelength;
  bool use_bidirectional_attention = false, use_vision_bidirectional_attention = false, use_double_wide_mlp = false,
       enable_moe_block = false;
  std::optional<Positive> num_audio_tokens_per_clip;
  LayerPtr vision_encoder_, audio_encoder_;
};

}  // namespace attn::keras
