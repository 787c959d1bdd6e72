// keras_hub.models.Seq2SeqLM: an encoder and a decoder, and the token embedding in reverse for logits.
#include <array>
#include <cmath>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/decoding.h"
#include "classes/ops/expression.h"
#include "model/decodes.h"
#include "model/tasks/task.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// A subclass defines how the layers of its backbone are called separately for each side.
class Seq2SeqLM : public Task, public Decodes {
 public:
  [[nodiscard]] bool has_encoder() const override { return true; }
  [[nodiscard]] Decoded decode(Lowering& lowering, ValueId token_ids, bool every_position) override {
    graph::Builder& b = lowering.builder();
    const TensorPtr tokens = Call::result(token_ids);
    const EncoderSequences encoder = *lowering.decoding->encoder;
    const TensorPtr mask = Call::result(encoder.padding);
    TensorPtr encoded = tokens;  // not read if its keys and values are cached
    if (encoder.token_ids) {
      Decoding* const decoding = std::exchange(lowering.decoding, nullptr);  // whole sequences
      encoded = encode(lowering, Call::result(*encoder.token_ids), mask);
      lowering.decoding = decoding;
    }
    const TensorPtr hidden = decode_behind(lowering, tokens, encoded, mask);
    const Shape shape = b.shape(hidden->id);
    ValueId asked = hidden->id;
    if (!every_position) {
      graph::Slice last;
      last.ranges = {{}, {shape[1] - 1, shape[1], 1}, {}};
      asked = b.apply(last, {asked});
    }
    if (const auto scale = hidden_scale()) asked = Expression(b, asked) * *scale;
    const Arg logits = lowering.apply(token_embedding(), ArgList{Call::result(asked)}, ArgDict{{"reverse", true}});
    return {(*logits.as<TensorPtr>())->id, hidden->id};
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "Seq2SeqLM"; }
  void assemble() override {
    TensorRef hidden = backbone_result("decoder_sequence_output");
    if (const auto scale = hidden_scale()) hidden = operation("Multiply", Json::object(), {hidden, *scale});
    output_struct = reverse_embedding(hidden);
  }

  virtual TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) = 0;
  virtual TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                                  const TensorPtr& mask) = 0;
  /// The factor of hidden states before the logits; empty if there is none.
  [[nodiscard]] virtual std::optional<double> hidden_scale() { return std::nullopt; }

  /// Calls a layer of the backbone and returns its first result.
  TensorPtr call_layer(Lowering& lowering, const std::string& called, ArgList args, ArgDict kwargs = {}) {
    return results_of(lowering, called, std::move(args), std::move(kwargs)).front();
  }
  std::vector<TensorPtr> results_of(Lowering& lowering, const std::string& called, ArgList args, ArgDict kwargs) {
    return tensors_of(lowering.apply(*backbone().find(called), std::move(args), std::move(kwargs)));
  }
  [[nodiscard]] std::int64_t num_layers() { return backbone_size("num_layers"); }
};

class BartSeq2SeqLM final : public Seq2SeqLM {
 protected:
  [[nodiscard]] std::optional<Packing> packing() const override {
    return Packing{true, {SpecialToken::end, SpecialToken::start}};
  }
  TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) override {
    TensorPtr x = embedded(lowering, "encoder", tokens);
    for (std::int64_t i = 0, count = num_layers(); i < count; ++i)
      x = call_layer(lowering, fmt::format("transformer_encoder_layer_{}", i), {x}, {{"padding_mask", mask}});
    return x;
  }
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& mask) override {
    TensorPtr x = embedded(lowering, "decoder", tokens);
    for (std::int64_t i = 0, count = num_layers(); i < count; ++i)
      x = call_layer(lowering, fmt::format("transformer_decoder_layer_{}", i), {},
                     {{"decoder_sequence", x}, {"encoder_sequence", encoded}, {"encoder_padding_mask", mask}});
    return x;
  }

 private:
  TensorPtr embedded(Lowering& lowering, const std::string& side, const TensorPtr& tokens) {
    const TensorPtr rows = call_layer(lowering, "token_embedding", {tokens});
    const TensorPtr positions = call_layer(lowering, side + "_position_embedding", {rows});
    const TensorPtr both = call_layer(lowering, side + "_embeddings_add", {Arg(ArgList{rows, positions})});
    return call_layer(lowering, side + "_embeddings_layer_norm", {both});
  }
};

class T5Seq2SeqLM final : public Seq2SeqLM {
 protected:
  [[nodiscard]] std::optional<Packing> packing() const override { return Packing{false, {SpecialToken::pad}}; }
  [[nodiscard]] std::optional<double> hidden_scale() override {
    if (!backbone_flag("tie_embedding_weights")) return std::nullopt;
    return 1.0 / std::sqrt(static_cast<double>(backbone_size("hidden_dim")));
  }
  TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) override {
    return through(lowering, "encoder", tokens, {{"attention_mask", with_query_axis(lowering, mask)}});
  }
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& mask) override {
    return through(lowering, "decoder", tokens,
                   {{"encoder_hidden_states", encoded},
                    {"encoder_attention_mask", with_query_axis(lowering, mask)},
                    {"use_causal_mask", true}});
  }

 private:
  static TensorPtr with_query_axis(Lowering& lowering, const TensorPtr& mask) {
    return Call::result(lowering.builder().expand_dims(mask->id, 1));
  }

  TensorPtr through(Lowering& lowering, const std::string& side, const TensorPtr& tokens, const ArgDict& kwargs) {
    TensorPtr x = call_layer(lowering, "token_embedding", {tokens});
    TensorPtr bias;
    for (std::int64_t i = 0, count = num_layers(); i < count; ++i) {
      ArgDict all = kwargs;
      if (bias != nullptr) all.emplace_back("position_bias", bias);
      const auto results = results_of(lowering, fmt::format("transformer_{}_layer_{}", side, i), {x}, all);
      x = results[0];
      bias = results[1];
    }
    return call_layer(lowering, side + "_output_layer_norm", {x});
  }
};

template <typename T>
constexpr ClassInfo row(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_layer<T>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::model,
          .package = "keras_hub"};
}

}  // namespace

Family seq_2_seq_lm_tasks() {
  static constexpr std::array kRows = {
      row<BartSeq2SeqLM>("BartSeq2SeqLM", "keras_hub.src.models.bart.bart_seq_2_seq_lm"),
      row<T5Seq2SeqLM>("T5Seq2SeqLM", "keras_hub.src.models.t5.t5_seq_2_seq_lm"),
  };
  return kRows;
}

}  // namespace attn::keras
