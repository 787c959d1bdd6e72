// The blocks and the backbone of Qwen 3.5, which its family with mixtures of experts shares.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/decoders/qwen3_5_layers.h"
#include "families/blocks/images/qwen3_5_vision_encoder.h"
#include "model/sized_inputs.h"
#include "model/tasks/causal_lm.h"
#include "model/vision_language_model.h"

namespace attn::keras {

/// The fields of the blocks that the backbone has too.
class Qwen3_5Family final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f("partial_rotary_factor", partial_rotary_factor);
    LinearRotaryFamily::fields(f);
    f("sliding_window_size", sliding_window_size);
    linear.fields(f);
    f("mrope_section", mrope_section);
  }
  void check(const Ref& config) const override {
    LinearRotaryFamily::check(config);
    linear.check(config);
    check_qwen3_5_rotary(config, head_dim, partial_rotary_factor, mrope_section);
  }

  Positive head_dim;
  Number partial_rotary_factor = 0.25;
  std::optional<Positive> sliding_window_size;
  Qwen3_5LinearFields linear;
  std::optional<std::vector<std::int64_t>> mrope_section;
};

/// A block with linear attention or grouped attention, and a feed-forward part.
class Qwen3_5Block : public DecoderBlock {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] bool supports_masking() const override { return true; }
  void build(Weights&, Call& call) override;
  Arg call(Call& call) override;

 protected:
  /// Reads or writes the fields of the feed-forward part.
  virtual void feed_forward_fields(Fields& f) = 0;
  virtual void make_feed_forward(std::int64_t hidden_dim) = 0;
  virtual TensorPtr feed_forward(Call& call, const TensorPtr& x) = 0;

  Layer& make_dense(const std::string& called, std::int64_t units);

  Initializer kernel_initializer{"glorot_uniform"};

 private:
  [[nodiscard]] bool is_linear() const;
  void make_mixer(std::int64_t hidden_dim);

  std::string layer_type;
  Positive num_query_heads, num_key_value_heads;
  Qwen3_5Family family_;
  Number layer_norm_epsilon{1e-6}, dropout{0.0};
  Layer* mixer_ = nullptr;
  Layer* mixer_norm_ = nullptr;
  Layer* dropped_ = nullptr;
  Layer* feed_forward_norm_ = nullptr;
};

/// The dense layers (activation(x·gate) ∘ (x·up))·down of a block or of an expert.
struct Qwen3_5FeedForward {
  [[nodiscard]] TensorPtr operator()(Call& call, const TensorPtr& x) const;

  Layer* gate = nullptr;
  Layer* up = nullptr;
  Layer* down = nullptr;
  Activation activation = *Activation::named("silu");  ///< computed in float32
};

/// The common part of the backbones. With a vision encoder, images stand between the tokens.
class Qwen3_5Stack : public GroupedBackbone, public SizedInputs {
 public:
  Qwen3_5Stack() { family_.sliding_window_size = Positive(32768); }
  void fields(Fields& f) override;
  /// Without arrays there are no images, as in KerasHub.
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override;
  [[nodiscard]] std::optional<ArrayFault> array_fault(const std::map<std::string, Tensor>& arrays) const override;
  /// Returns the vision encoder; null for a text model.
  [[nodiscard]] Qwen3_5VisionEncoder* encoder() const {
    return dynamic_cast<Qwen3_5VisionEncoder*>(vision_encoder_.get());
  }
  [[nodiscard]] std::int64_t blocks() const { return num_layers; }

 protected:
  /// Reads or writes the fields of the feed-forward parts.
  virtual void feed_forward_fields(Fields& f) = 0;
  /// Reads or writes the fields in front of the vision encoder.
  virtual void last_fields(Fields&) {}
  void check_fields(const Ref& config) override;
  /// Assembles the model; blocks have the arguments `further`.
  void assemble_stack(std::string_view block_class, const Json& further);
  TensorRef with_images(const TensorRef& texts, std::vector<TensorRef>& inputs) override;

 private:
  void layer_types(Fields& f);

  Qwen3_5Family family_;
  std::vector<std::string> layer_types_;
  bool tie_word_embeddings = false;
  LayerPtr vision_encoder_;
};

/// Decode steps read only text. Texts with images are lowered as a whole.
class Qwen3_5CausalLM final : public CausalLM, public SizedInputs, public VisionLanguageModel {
 public:
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override;
  [[nodiscard]] std::optional<Dim> default_size(std::string_view input, int axis) const override {
    return stack().default_size(input, axis);
  }
  [[nodiscard]] std::optional<ArrayFault> array_fault(const std::map<std::string, Tensor>& arrays) const override {
    return stack().array_fault(arrays);
  }
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const override;
  [[nodiscard]] Dim image_width() const override { return stack().encoder()->features(); }
  [[nodiscard]] graph::ValueId encode_image(Lowering& lowering, graph::ValueId pixel_values,
                                            const PatchGrid& grid) override;
  [[nodiscard]] graph::ValueId score(Lowering& lowering, const ScoreInputs& texts) override;

 private:
  /// Returns the hidden states (B,T,D).
  [[nodiscard]] graph::ValueId hidden_states(Lowering& lowering, const ScoreInputs& texts);
  [[nodiscard]] Qwen3_5Stack& stack() const { return dynamic_cast<Qwen3_5Stack&>(backbone()); }
};

}  // namespace attn::keras
