// The common part of text backbones.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "model/backbones/backbone.h"

namespace attn::keras {

/// Has token ids and a padding mask as inputs.
class TextBackbone : public Backbone {
 protected:
  void check_fields(const Ref& config) override;

  TensorRef tokens(std::string_view called) { return input(called, {kUnknown, kUnknown}, DType::int32); }
  void set_inputs(const std::vector<TensorRef>& refs);
  TensorRef layer_norm(std::string_view called, const TensorRef& x, double epsilon);
  TensorRef dropped_out(std::string_view called, const TensorRef& x);
  /// The token embedding layer; `arguments` are in addition to its sizes.
  Layer& token_embedding(Json arguments);
  /// Passes x through `num_layers` blocks named "<called>_0" and so on; `kwargs` are arguments of each call.
  TensorRef through_blocks(TensorRef x, std::string_view class_name, std::string_view called,
                           const std::function<Json(std::int64_t)>& arguments, const ArgDict& kwargs);

  Positive vocabulary_size, num_layers, hidden_dim, intermediate_dim;
  Number dropout = 0.1;
};

/// Each head has its own keys and values, and positions are trained.
class HeadedBackbone : public TextBackbone {
 public:
  void fields(Fields& f) override;

 protected:
  void check_fields(const Ref& config) override;
  TensorRef embeddings_dropout(const TensorRef& x) { return dropped_out("embeddings_dropout", x); }

  Positive num_heads, max_sequence_length = 512;
};

/// The inputs of a model with an encoder and a decoder.
struct Sides {
  TensorRef encoder_tokens, encoder_mask, decoder_tokens, decoder_mask;
};

}  // namespace attn::keras
