// keras_hub.models.Seq2SeqLM: an encoder and a decoder, and the token embedding in reverse for logits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "classes/call.h"
#include "model/autoregressive.h"
#include "model/tasks/task.h"

namespace attn::keras {

/// A subclass defines how to call the layers of its backbone separately for encoder and decoder.
class Seq2SeqLM : public Task, public Autoregressive {
 public:
  [[nodiscard]] bool has_encoder() const override { return true; }
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override;

 protected:
  [[nodiscard]] std::string_view kind() const override { return "Seq2SeqLM"; }
  void assemble() override;

  /// Encodes tokens with their mask, or features with null.
  virtual TensorPtr encode(Lowering& lowering, const TensorPtr& input, const TensorPtr& mask) = 0;
  virtual TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                                  const TensorPtr& mask) = 0;
  /// Returns the factor of the hidden states before the logits; empty if there is none.
  [[nodiscard]] virtual std::optional<double> hidden_scale() { return std::nullopt; }

  /// The soft cap of the logits; empty if there is none.
  [[nodiscard]] virtual std::optional<double> logits_cap() { return std::nullopt; }

  /// Returns the logits of hidden states.
  virtual TensorPtr logits_of(Lowering& lowering, const TensorPtr& hidden);
  /// Returns the model whose layers encode and decode.
  [[nodiscard]] virtual Functional& text_model() const { return backbone(); }

  /// Calls a layer of the text model and returns its first result.
  TensorPtr call_layer(Lowering& lowering, const std::string& called, ArgList args, ArgDict kwargs = {}) {
    return results_of(lowering, called, std::move(args), std::move(kwargs)).front();
  }
  std::vector<TensorPtr> results_of(Lowering& lowering, const std::string& called, ArgList args, ArgDict kwargs) {
    return tensors_of(lowering.apply(*text_model().find(called), std::move(args), std::move(kwargs)));
  }
  [[nodiscard]] std::int64_t num_layers() { return backbone_size("num_layers"); }
};

}  // namespace attn::keras
