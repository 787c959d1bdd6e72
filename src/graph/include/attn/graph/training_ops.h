// Operations that occur only in training graphs (attn/gradients/gradients.h). `dy` is the gradient of a loss with
// respect to y: it has y's shape and dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/base/shape.h"
#include "attn/graph/plain_ops.h"

namespace attn::graph {

/// [x, dy] → [dy·f'(x)].
struct UnaryGrad {
  Unary forward;
};

/// [query, key, value, bias?, mask…, context, lse, dcontext, dscores?] → [dquery, dkey, dvalue, dbias?]. Context and
/// lse are outputs of `forward`, which has neither a packed input nor concatenated sequences; dscores is present if it
/// has scores. For each query D = Σ dcontext·context + Σ_s P·dscores. P = e^(score − lse) at visible positions,
/// otherwise 0; it is 1/S if the fused path sees none. Then dvalue = PᵀdO and dscore = P∘(dO·Vᵀ + dscores − D), from
/// which dbias, dquery and dkey follow (FlashAttention-2, arXiv 2307.08691, algorithm 2).
struct AttentionGrad {
  Attention forward;
  bool bias = false;  ///< also return dbias
};

/// [x, gamma?, dy] → [dx, dgamma?, dbeta?]; dgamma is present if `forward` has a scale, dbeta if it has a center. dbeta
/// has the dtype of gamma, or else of x.
struct LayerNormGrad {
  LayerNorm forward;
};

/// [x, gamma? (C), beta? (C), mask? bool] → [y, mean (C), variance (C)]: batch normalization by the statistics of x
/// over all axes but `axis`, C its size, y = (x − mean)·gamma/√(variance + ε) + beta. The variance is the biased one.
/// The mask has x's axes but the last; the statistics ignore masked positions and divide by the number of the others +
/// 1e-7 (keras/src/layers/normalization/batch_normalization.py).
struct BatchNormTraining {
  int axis = -1;
  double epsilon = 1e-3;
  bool scale = true;
  bool center = true;
  bool mask = false;
};

/// [x, gamma? (C), mask? bool, mean (C), variance (C), dy] → [dx, dgamma?, dbeta?], with mean and variance from
/// `forward`. Their other uses are not differentiated.
struct BatchNormGrad {
  BatchNormTraining forward;
};

/// [x] → [zeros of `shape`, except y[ranges] = x]: the gradient of Slice. A range's count is the size of x's axis.
struct Scatter {
  Shape shape;
  std::vector<Range> ranges;
};

/// [kernel, dy] → [dx], of the shape `input`. `forward` has neither bias nor activation.
struct ConvInputGrad {
  Conv forward;
  Shape input;
};

/// [x, dy] → [dkernel], of the shape `kernel`. `forward` has neither bias nor activation.
struct ConvKernelGrad {
  Conv forward;
  Shape kernel;
};

/// [x?, dy] → [dx], of the shape `input`. x is passed for a maximum, whose first cell in each window gets all of dy.
struct PoolGrad {
  Pool forward;
  Shape input;
};

/// [inputs of `forward`…, output gradients of `forward`…] → [dx, dkernel, drecurrent kernel, dbias?, dinitial state?…].
struct RnnGrad {
  Rnn forward;
};

/// [inputs of DeltaRule…, gradient of its outputs, gradient of its last state] → [a gradient for each input].
struct DeltaRuleGrad {};

/// [logits (…, C), labels (…) of integers in [0, C)] → [loss (…)], where loss = ln Σ e^logit − the logit of the label.
/// With probabilities (…, C) in place of labels, loss = Σ p·(ln Σ e^logit − logit). An out-of-range label is an error
/// that names it.
struct SoftmaxCrossEntropy {};

/// [logits, labels or probabilities, dy (…)] → [dlogits (…, C)].
struct SoftmaxCrossEntropyGrad {};

/// [x, count () int64] → [x/(1 − rate), or 0 with probability `rate`]. The random numbers are those of TensorFlow's
/// stateless_uniform(noise, seed=[seed, count]) in x's dtype: an element is dropped if its number is below the rate.
/// The gradient is the same operation on dy.
struct Dropout {
  double rate = 0.5;
  std::int64_t seed = 0;
  Shape noise;  ///< broadcasts to x: elements that are dropped together
};

// clang-format off
/// Operations of a training step that have a gradient of their own.
#define ATTN_TRAINING_OPS(OP) \
  OP(BatchNormTraining, "batch_norm_training") OP(Scatter, "scatter") \
  OP(SoftmaxCrossEntropy, "softmax_cross_entropy") OP(Dropout, "dropout")
/// Operations that only occur in gradients.
#define ATTN_GRADIENT_OPS(OP) \
  OP(UnaryGrad, "unary_grad") OP(AttentionGrad, "attention_grad") OP(LayerNormGrad, "layer_norm_grad") \
  OP(BatchNormGrad, "batch_norm_grad") OP(ConvInputGrad, "conv_input_grad") \
  OP(ConvKernelGrad, "conv_kernel_grad") OP(PoolGrad, "pool_grad") OP(RnnGrad, "rnn_grad") \
  OP(DeltaRuleGrad, "delta_rule_grad") \
  OP(SoftmaxCrossEntropyGrad, "softmax_cross_entropy_grad")
// clang-format on

}  // namespace attn::graph
