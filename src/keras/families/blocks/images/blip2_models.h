// The models inside a BLIP-2: an encoder of images, the Q-Former, and the text models (keras_hub/src/models/blip2).
//
// Letters: B batch, H height, W width, P patches, Q query tokens, T tokens, D width.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "families/blocks/t5_stacks.h"
#include "model/backbones/text.h"

namespace attn::keras {

/// (B,H,W,3) → (B,P,D): a vision transformer.
class Blip2VisionEncoder final : public Backbone {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] std::int64_t height() const { return image_size.items[0]; }
  [[nodiscard]] std::int64_t width() const { return image_size.items[1]; }
  [[nodiscard]] std::int64_t features() const { return hidden_dim; }

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  Window image_size{{1, 1}}, patch_size{{1, 1}};
  Positive num_layers, num_heads, hidden_dim, intermediate_dim;
  bool use_patch_bias = true, use_class_token = true, use_mha_bias = true, use_mlp_bias = true;
  Number dropout_rate, layer_norm_epsilon, initializer_range;
};

/// (B,P,D) → (B,Q,D): trained queries that attend to the patches of an image.
class Blip2QFormer final : public Backbone {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] std::int64_t queries() const { return num_query_tokens; }
  [[nodiscard]] std::int64_t features() const { return hidden_dim; }
  [[nodiscard]] std::int64_t features_read() const { return vision_dim; }

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  Positive num_query_tokens, num_layers, num_heads, hidden_dim, intermediate_dim, vision_dim, cross_attention_frequency;
  Number dropout, layer_norm_epsilon;
};

/// The queries that a text model reads in front of its tokens. Without any, it reads only tokens.
struct Blip2Queries {
  std::int64_t count = 0;
  Positive features;
  LayerPtr projection;  ///< (B,Q,D) → the width of the text model

  void check(const Ref& config) const;
};

/// The decoder of OPT.
class Blip2Opt final : public HeadedBackbone {
 public:
  Blip2Opt() { dropout = Number(); }
  void fields(Fields& f) override;
  /// The variables have the order of the graph, because the constructor sets no attributes before it.
  [[nodiscard]] std::vector<Sublayer> sublayers() override { return Functional::sublayers(); }
  [[nodiscard]] const Blip2Queries& queries() const { return queries_; }
  [[nodiscard]] std::int64_t blocks() const { return num_layers; }

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  /// Returns the projected queries (B,Q,D) with their positions, and behind them the embedded tokens.
  TensorRef behind_queries(Layer& embeddings, const TensorRef& token_ids, const TensorRef& features);
  /// Returns the mask (B,Q+T) of queries, which are all seen, and tokens.
  TensorRef mask_behind_queries(const TensorRef& features, const TensorRef& mask);

  Blip2Queries queries_;
  Number initializer_range{0.02}, layer_norm_epsilon{1e-5};
};

/// A Flan-T5, whose encoder reads the queries.
class Blip2FlanT5 final : public T5Stacks {
 public:
  Blip2FlanT5() { activation = *Activation::named("gelu"); }
  void fields(Fields& f) override;
  void build_symbolic() override;
  /// Only the task calls the head; then the model has its variables.
  [[nodiscard]] std::vector<Sublayer> sublayers() override;
  [[nodiscard]] const Blip2Queries& queries() const { return queries_; }
  [[nodiscard]] Layer& head() const { return *lm_head_; }
  [[nodiscard]] std::int64_t blocks() const { return num_layers; }

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  Blip2Queries queries_;
  LayerPtr lm_head_;
};

}  // namespace attn::keras
