// Models with an encoder and a decoder of T5's blocks: T5, and BLIP-2 with Flan-T5.
//
// Letters: B batch, T tokens, D width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/backbones/text.h"
#include "model/tasks/seq_2_seq_lm.h"

namespace attn::keras {

class T5Stacks : public TextBackbone {
 protected:
  void check_fields(const Ref& config) override;

  /// Adds the token embedding.
  Layer& token_rows(bool tied);
  /// Returns x[subscripts].
  TensorRef item(const TensorRef& x, ArgList subscripts);
  /// Returns x[:, None, :].
  TensorRef with_query_axis(const TensorRef& x) { return item(x, ArgList{SliceArg{}, Arg(), SliceArg{}}); }
  /// Calls the layers of a stack. The first layer computes the position bias, which all later layers receive.
  TensorRef through(const std::string& side, TensorRef x, const ArgDict& kwargs);
  /// Adds the norm and the dropout at the end of a stack.
  TensorRef ended(const std::string& side, const TensorRef& x);

  Positive num_heads;
  Activation activation = *Activation::named("relu");
  std::optional<Positive> key_value_dim;
  bool use_gated_activation = true;
  Number layer_norm_epsilon{1e-6};
  int items = 0;  ///< number of items of tensors that KerasHub's constructor has taken, which count for names
};

/// A task whose encoder and decoder are called separately.
class T5StacksLM : public Seq2SeqLM {
 protected:
  [[nodiscard]] std::optional<Packing> packing() const override { return Packing{false, {SpecialToken::pad}}; }
  [[nodiscard]] static TensorPtr with_query_axis(Lowering& lowering, const TensorPtr& mask);
  /// Calls `count` layers of a stack and its norm with embedded tokens.
  TensorPtr through(Lowering& lowering, const std::string& side, TensorPtr x, std::int64_t count,
                    const ArgDict& kwargs);
};

}  // namespace attn::keras
