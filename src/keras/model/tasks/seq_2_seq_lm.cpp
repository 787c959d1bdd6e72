#include "model/tasks/seq_2_seq_lm.h"

#include <utility>

#include "attn/graph/graph.h"
#include "classes/decoding.h"
#include "classes/ops/expression.h"

namespace attn::keras {

using graph::ValueId;

Decoded Seq2SeqLM::decode(Lowering& lowering, ValueId token_ids, bool every_position) {
  graph::Builder& b = lowering.builder();
  const TensorPtr tokens = Call::result(token_ids);
  const EncoderSequences encoder = *lowering.decoding->encoder;
  const TensorPtr mask = encoder.padding == graph::kNone ? nullptr : Call::result(encoder.padding);
  TensorPtr encoded = tokens;  // a placeholder: not read if the encoder's keys and values are cached
  if (encoder.input) {
    Decoding* const decoding = std::exchange(lowering.decoding, nullptr);  // the encoder reads whole sequences
    encoded = encode(lowering, Call::result(*encoder.input), mask);
    lowering.decoding = decoding;
  }
  const TensorPtr hidden = decode_behind(lowering, tokens, encoded, mask);
  ValueId asked = every_position ? hidden->id : last_position(b, hidden->id);
  if (const auto scale = hidden_scale()) asked = Expression(b, asked) * *scale;
  const ValueId logits = logits_of(lowering, Call::result(asked))->id;
  const auto cap = logits_cap();
  return {cap ? keras::soft_capped(b, logits, *cap) : logits, hidden->id};
}

TensorPtr Seq2SeqLM::logits_of(Lowering& lowering, const TensorPtr& hidden) {
  return *lowering.apply(token_embedding(), ArgList{hidden}, ArgDict{{"reverse", true}}).as<TensorPtr>();
}

void Seq2SeqLM::assemble() {
  TensorRef hidden = backbone_result("decoder_sequence_output");
  if (const auto scale = hidden_scale()) hidden = operation("Multiply", Json::object(), {hidden, *scale});
  const TensorRef logits = reverse_embedding(hidden);
  const auto cap = logits_cap();
  output_struct = cap ? soft_capped(logits, *cap) : logits;
}

}  // namespace attn::keras
