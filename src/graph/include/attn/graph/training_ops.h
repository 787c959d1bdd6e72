// Training: what a backward graph has beside the operations of a model's own (attn/gradients/gradients.h). `dy` is the
// gradient of a loss with respect to y: it has y's shape and dtype.
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
/// lse are what `forward` gives, which has neither a packed input nor sequences in one batch entry; dscores is given
/// where it has scores. With D = Σ dcontext·context + Σ_s P·dscores for each query and P = e^(score − lse) where a
/// position is seen, else 0 (1/S where the fused path sees none): dvalue = PᵀdO, dscore = P∘(dO·Vᵀ + dscores − D), from
/// which dbias, dquery and dkey follow (FlashAttention-2, arXiv 2307.08691, algorithm 2).
struct AttentionGrad {
  Attention forward;
  bool bias = false;  ///< also give dbias
};

/// [x, gamma?, dy] → [dx, dgamma?, dbeta?]; dgamma is given where `forward` has a scale, dbeta where it has a center.
/// dbeta has the dtype of gamma, or else of x.
struct LayerNormGrad {
  LayerNorm forward;
};

/// [x, gamma? (C), beta? (C), mask? bool] → [y, mean (C), variance (C)]: batch normalization by the statistics of x
/// over all axes but `axis`, C its size, y = (x − mean)·gamma/√(variance + ε) + beta. The variance is the biased one.
/// The mask has x's axes but the last; positions that it hides count for nothing in the statistics, whose sums are over
/// their number + 1e-7 then (keras/src/layers/normalization/batch_normalization.py).
struct BatchNormTraining {
  int axis = -1;
  double epsilon = 1e-3;
  bool scale = true;
  bool center = true;
  bool mask = false;
};

/// [x, gamma? (C), mask? bool, mean (C), variance (C), dy] → [dx, dgamma?, dbeta?], mean and variance as `forward`
/// gives them. What they are used for beside is not differentiated.
struct BatchNormGrad {
  BatchNormTraining forward;
};

/// [x] → [zeros of `shape`, but y[ranges] = x]: the gradient of Slice. A range's count is the size of x's axis.
struct Scatter {
  Shape shape;
  std::vector<Range> ranges;
};

/// [updates (before… + indices + behind…), indices (integer)] → [table (before… + size + behind…)]: zeros, and every
/// update added to the row that its index names, as Gather along `axis` reads it: before… are `axis` axes.
struct ScatterAdd {
  int axis = 0;
  Dim size = 0;
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

/// [x?, dy] → [dx], of the shape `input`. x is given for a maximum, whose first cell in each window gets all of dy.
struct PoolGrad {
  Pool forward;
  Shape input;
};

/// [as of `forward`…, as the outputs of `forward`…] → [dx, dkernel, drecurrent kernel, dbias?, dinitial state?…].
struct RnnGrad {
  Rnn forward;
};

/// [logits (…, C), labels (…) of integers in [0, C)] → [ln Σ e^logit − logit of the label (…)], or with
/// […, probabilities (…, C)] Σ p·(ln Σ e^logit − logit). A label out of range is an error that names it.
struct SoftmaxCrossEntropy {};

/// [logits, labels or probabilities, dy (…)] → [dlogits (…, C)].
struct SoftmaxCrossEntropyGrad {};

/// [x, count () int64] → [x/(1 − rate), or 0 with probability `rate`]. The numbers that decide are those of
/// TensorFlow's stateless_uniform(noise, seed=[seed, count]) in x's dtype: 0 where they are below the rate. The
/// gradient is the same operation on dy.
struct Dropout {
  double rate = 0.5;
  std::int64_t seed = 0;
  Shape noise;  ///< broadcasts to x: what is dropped together
};

}  // namespace attn::graph
