// The operations of a model's own graph.
//
// Letters: B batch, T query length, S key/value length, N query heads, K key/value heads, H head size, D width.
// Inputs and outputs are listed as [in, …] → [out, …]; `in?` is present where the field named beside it says so.
// Every input of one operation has one dtype unless it is said otherwise; mixed dtypes meet through Cast.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"

namespace attn::graph {

// clang-format off: the groups of these lists are lines
/// Functions of one number. Formulas are Keras's (keras.activations, keras.ops); a, b, c are the fields of Unary.
enum class UnaryFn : std::uint8_t {
  // activations
  linear,
  relu,  // relu: x > b ? min(x, c) : a·(x − b)   a negative_slope, b threshold, c max_value (inf: none)
  elu,   // x > 0 ? x : a·(eˣ − 1)
  celu,  // max(0, x) + min(0, a·(e^(x/a) − 1))
  selu,
  gelu,       // gelu: x·Φ(x) by erf
  gelu_tanh,  // the tanh approximation
  silu,
  sigmoid,
  tanh,
  softplus,
  softsign,
  exponential,
  hard_sigmoid,  // min(max(x + a, 0), 2a)/2a; a is 3 where it is 0 (Keras 3), 2.5 in Keras 2
  hard_silu,
  hard_tanh,
  log_sigmoid,
  mish,
  hard_shrink,     // |x| > a ? x : 0
  soft_shrink,     // sign(x)·max(|x| − a, 0)
  tanh_shrink,     // x − tanh(x)
  threshold,       // x > a ? x : b
  squareplus,      // (x + √(x² + a)) / 2
  sparse_plus,     // 0 for x ≤ −1, x for x ≥ 1, else (x + 1)²/4
  sparse_sigmoid,  // 0 for x ≤ −1, 1 for x ≥ 1, else (x + 1)/2
  // arithmetic
  absolute,
  negative,
  expm1,
  log,
  log1p,
  log2,
  log10,
  sqrt,
  rsqrt,
  square,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  erf,
  floor,
  ceil,
  round,
  trunc,
  sign,
  clip,           // min(max(x, a), b)
  float8_e4m3fn,  // the nearest number of that format, even on a tie; what is beyond 448 is ±448
  // to bool
  logical_not,
  isnan,
  isinf,
  isfinite
};

// clang-format on

/// [x] → [f(x)]; bool for the last group (logical_not takes bool).
struct Unary {
  UnaryFn fn = UnaryFn::linear;
  double a = 0.0, b = 0.0, c = 0.0;
};

// clang-format off
enum class BinaryFn : std::uint8_t {
  add, subtract, multiply, divide,
  floor_divide, mod,  // Python's: the remainder has the divisor's sign
  power, maximum, minimum, atan2,
  equal, not_equal, less, less_equal, greater, greater_equal,  // → bool
  logical_and, logical_or, logical_xor                          // bool → bool
};

// clang-format on

/// [x, y] → [x ∘ y] with NumPy broadcasting.
struct Binary {
  BinaryFn fn = BinaryFn::add;
};

/// [condition (bool), x, y] → [condition ? x : y] with NumPy broadcasting.
struct Select {};

/// [x] → [x in another dtype]; to an integer it truncates, to bool it is x != 0.
struct Cast {
  DType dtype = DType::float32;
};

/// [x (…, k₁…kₙ), kernel (k₁…kₙ, m…), bias? (m…), residual? (…, m…)] → [activation(x·kernel + bias) + residual (…,
/// m…)]. A dense map that contracts the last `contracted` axes of x with the first of kernel; Dense has 1 and kernel
/// (D, units), attention's projections (D, N, H), its output projection 2 and (N, H, D).
struct Linear {
  int contracted = 1;
  bool bias = false;
  Unary activation{};
  bool residual = false;
};

/// The integers that stand for numbers, and how they are made of them.
struct IntegerRange {
  double low = -127.0, high = 127.0;
  double epsilon = 1e-7;  ///< added to the largest magnitude
};

/// [x] → [q int8, scale]. scale = high/(max |x| over `axes` jointly + ε), whose size along these axes is 1, and q =
/// min(max(x·scale, rounded half to even, low), high). What each step gives is rounded to x's dtype, as in Keras's
/// abs_max_quantize. Axes are non-negative and ascending.
struct Quantize {
  std::vector<int> axes;
  IntegerRange range;
};

/// Two integers of 4 bits in each byte, along an axis: the one of even index in the low half, two's complement where
/// the bytes are int8, from 0 to 15 where they are uint8.
struct Nibbles {
  int axis = 0;
  Dim size = 0;  ///< of the axis when they are apart; where it is odd, the last byte has one of them
};

/// [q (int8 or uint8), scale, zero?, groups?] → [numbers of the scale's dtype]: q/scale, whose scale broadcasts to q.
/// With a `group_axis` it is (q − zero)·scale, where scale and zero have as many rows along that axis as there are
/// groups, and row i of q takes those that groups[i] (int32) names. A group out of range is an error that names it.
struct Dequantize {
  std::optional<Nibbles> nibbles;
  std::optional<int> group_axis;
};

/// Where the two integers of a byte of a weight lie beside each other.
enum class Pairs : std::uint8_t { none, inputs, outputs };

/// [x (…, k…), kernel (int8 or uint8), scale, zero?, groups?, bias? (m…), residual? (…, m…)] → [activation(x·w + bias)
/// + residual (…, m…)], a Linear whose weight w is kept as integers q. The kernel is (k…, m…), or (m…, k…) where it is
/// `transposed`; with `pairs` it has two axes, K = ∏k… and M = ∏m…, one of which is halved as by Nibbles.
/// - w = q/scale, where the scale has M elements; or where it is `grouped` w = (q − zero)·scale, where scale and zero
///   are (groups, M), or (M, groups) where it is transposed, and row k of K takes the group that groups[k] (int32)
///   names. Then, and where `rounded`, w is rounded to the scale's dtype; else x·q is divided by the scale.
/// - With `inputs`, x is quantized over k… as by Quantize{k…}, and the sum is divided by the product of both scales.
///   What each step gives is rounded then: the sum and the scale of x to x's dtype, the rest to the result's.
/// The result has the dtype of x and the scale, of which one may be float32 and the other half.
struct QuantizedLinear {
  int contracted = 1;
  Shape units;  ///< m…
  bool transposed = false;
  Pairs pairs = Pairs::none;
  bool grouped = false;
  bool rounded = false;
  std::optional<IntegerRange> inputs;
  bool bias = false;
  Unary activation{};
  bool residual = false;
};

/// [x (…, m, k), y (…, k, n)] → [(…, m, n)], batch axes broadcast; a rank-1 side acts as NumPy's matmul.
struct MatMul {
  bool transpose_x = false;  ///< x is (…, k, m)
  bool transpose_y = false;  ///< y is (…, n, k)
};

/// [x₁, …] → [y] by NumPy's explicit einsum equation, "abc,cde->abde". One or more inputs, no ellipsis.
struct Einsum {
  std::string equation;
};

enum class SoftmaxKind : std::uint8_t { softmax, log_softmax, sparsemax };

/// [x] → [softmax over `axes` jointly]; axes are non-negative.
struct Softmax {
  SoftmaxKind kind = SoftmaxKind::softmax;
  std::vector<int> axes;
};

/// Which of Keras's two attention computations (they differ in masked rows and in half precision).
enum class AttentionPath : std::uint8_t {
  fused,     ///< ops.dot_product_attention: scores·scale and softmax in float32; a masked score becomes
             ///< −0.7·max(float32), so a fully masked row averages the values uniformly
  explicit_  ///< scale on the query, all in the compute dtype; a masked score becomes −1e9 (−3e4 in float16) and its
             ///< probability 0 after the softmax, so a fully masked row gives zeros
};

/// [query (B,T,N,H), key (B,S,K,H), value (B,S,K,Hv), bias?, mask…] → [context (B,T,N,Hv), scores? (B,N,T,S),
/// lse? (B,N,T)].
/// context = softmax(score, masked)·V per head, where score = cap(scale·QKᵀ) + bias; query head n reads key/value head
/// n / (N/K). The bias broadcasts to (B,N,T,S). Each of the `masks` inputs is bool and broadcasts to (B,N,T,S); a
/// position is seen where all of them, and causal and window, allow it. `scores` are the probabilities, as Keras calls
/// them. `lse` is ln Σ e^score over the positions that are seen, −∞ where none is, in float32 (of float64 inputs in
/// float64).
/// Where one product makes query, key and value (plan::pack_projections), [packed (B,T,N+2K,H), mask…] stands for
/// [query, key, value, mask…]: N heads of the query, then K of the key, then K of the value.
///
/// Sequences without padding (plan::skip_padding) stand one behind the other in one batch entry: [query (1,P,N,H), key
/// (1,P,K,H), value (1,P,K,Hv), starts (B+1) int32], or [packed (1,P,N+2K,H), starts]. Sequence b is the rows from
/// starts[b] to before starts[b+1], at most `varlen` of them, and sees itself alone; rows from starts[B] on are
/// undefined. There are no bias, no masks, no window, no scores and no lse then.
struct Attention {
  double scale = 1.0;
  AttentionPath path = AttentionPath::fused;
  double soft_cap = 0.0;  ///< cap(x) = soft_cap·tanh(x/soft_cap); 0: x as it is
  bool bias = false;
  int masks = 0;
  bool causal = false;                 ///< position t sees s ≤ t (aligned at the top left, also for T ≠ S)
  std::optional<std::int64_t> window;  ///< position t sees |t − s| < window
  bool scores = false;                 ///< also give the probabilities
  bool lse = false;                    ///< also give the logarithms, for AttentionGrad
  Dim packed_heads = 0;                ///< K of a packed input; 0: query, key and value are three inputs
  Dim varlen = 0;                      ///< most rows of one of the sequences that share a batch entry; 0: they do not
};

/// [cache (C,K,S,H), x (B,T,K,H), position () int32] → [cache]. A state, or what an Append gave, with x in the rows
/// from `position` on, rounded to the cache's dtype; in place: nothing reads the cache as it was before. C is a
/// multiple of B, and the entry b of x is written to the entry b·C/B of the cache. Rows beyond the last are an error.
struct Append {};

/// [query (B,T,N,H), keys (C,K,S,H), values (C,K,S,Hv), length () int32, sources? (B,S) int32, bias?, mask…] →
/// [context (B,T,N,Hv)]. Attention to the first `length` rows of caches as Append fills them, whose dtype may be
/// another than the query's; rows behind them are not read. Bias and masks broadcast to (B,N,T,S). Entry b of the query
/// reads the entry b·C/B of the caches or, row by row, the entry that `sources` names: beams of one prompt share its
/// rows. Where it is causal, the queries are the last T of the `length` rows, and query t sees the rows s ≤ length − T
/// + t. A length below 0 or T, or beyond S, is an error, and so is a source that is no entry.
struct CachedAttention {
  double scale = 1.0;
  AttentionPath path = AttentionPath::fused;
  double soft_cap = 0.0;  ///< as of Attention
  bool sources = false;
  bool bias = false;
  int masks = 0;
  bool causal = true;
  std::optional<std::int64_t> window;  ///< |(length − T + t) − s| < window
};

enum class NormKind : std::uint8_t {
  layer,     ///< (x − mean)/√(var + ε)
  rms,       ///< x/√(mean(x²) + ε)
  rms_layer  ///< Keras's deprecated rms_scaling: x/√(var + ε), the mean not subtracted
};

/// [x, gamma?, beta?] → [normalized·gamma + beta] with statistics over `axes` jointly, in float32 for half inputs.
/// gamma and beta have the sizes of the axes, in order; axes are non-negative and ascending.
struct LayerNorm {
  NormKind kind = NormKind::layer;
  std::vector<int> axes;
  double epsilon = 1e-3;
  bool scale = true;   ///< gamma is given
  bool center = true;  ///< beta is given
};

/// [x, mean (C), variance (C), gamma? (C), beta? (C)] → [(x − mean)·gamma/√(variance + ε) + beta], C = size of `axis`.
struct BatchNorm {
  int axis = -1;
  double epsilon = 1e-3;
  bool scale = true;
  bool center = true;
};

enum class ReduceFn : std::uint8_t { sum, mean, max, min, prod, any, all, argmax, argmin, logsumexp };

/// [x] → [x reduced over `axes`]; argmax and argmin take one axis and give int32. Axes are non-negative and ascending;
/// none at all leaves x as it is.
struct Reduce {
  ReduceFn fn = ReduceFn::sum;
  std::vector<int> axes;
  bool keepdims = false;
};

/// [x] → [running sum or product along `axis`].
struct Cumulate {
  bool product = false;
  int axis = 0;
  bool reverse = false;    ///< from the end
  bool exclusive = false;  ///< of the elements before each, without itself: 0, or 1, for the first
};

/// [x] → [the same elements under `shape`]; −1 stands for what the element count gives.
struct Reshape {
  Shape shape;
};

/// [x] → [out with out.shape[i] = x.shape[permutation[i]]].
struct Transpose {
  std::vector<int> permutation;
};

/// [x] → [x broadcast to `shape`] (NumPy).
struct Broadcast {
  Shape shape;
};

/// [x₁, …] → [joined along `axis`] (non-negative).
struct Concat {
  int axis = 0;
};

/// One axis of a Slice, with Python's meaning of start:stop:step.
struct Range {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};

/// [x] → [x[ranges]]; as many ranges as x has axes.
struct Slice {
  std::vector<Range> ranges;
};

enum class PadMode : std::uint8_t { constant, reflect, symmetric, edge };

/// [x] → [x with before[i] and after[i] elements added to axis i].
struct Pad {
  PadMode mode = PadMode::constant;
  std::vector<std::int64_t> before, after;
  double value = 0.0;
};

/// [table, indices (integer)] → [table taken along `axis`]: shape table[:axis] + indices + table[axis+1:]. Negative
/// indices count from the back; one that is out of range is an error that names it.
struct Gather {
  int axis = 0;
};

/// [] → [index along `axis`, times step, plus start, broadcast over shape].
struct Iota {
  Shape shape;
  DType dtype = DType::int32;
  int axis = 0;
  double start = 0.0, step = 1.0;
};

/// [] → [value everywhere].
struct Fill {
  Shape shape;
  DType dtype = DType::float32;
  double value = 0.0;
};

enum class Padding : std::uint8_t { valid, same, causal };

/// [x (B, spatial…, C), kernel (window…, C/groups, F), bias? (F)] → [activation(conv) (B, spatial…, F)], 1 to 3 spatial
/// axes. `same` pads as TensorFlow does (the odd cell at the end), `causal` only before.
struct Conv {
  std::vector<std::int64_t> strides, dilation;
  Padding padding = Padding::valid;
  std::int64_t groups = 1;
  bool bias = false;
  Unary activation{};
};

/// [x (B, spatial…, C)] → [pooled (B, spatial…, C)]; an average counts only cells inside x.
struct Pool {
  bool average = false;  ///< else maximum
  std::vector<std::int64_t> window, strides;
  Padding padding = Padding::valid;
};

enum class RnnCell : std::uint8_t { simple, lstm, gru };

/// [x (B,T,D), kernel (D,g·U), recurrent kernel (U,g·U), bias?, mask? (B,T) bool, initial state? (B,U) one per state]
/// → [outputs (B,T,U), or the last one (B,U), then the states (B,U) where `return_state`].
/// g: lstm 4 (i,f,c,o), gru 3 (z,r,h), simple 1. States: lstm h and c, else h. bias is (g·U), for gru with reset_after
/// (2, 3·U): input and recurrent. A masked step repeats the previous output (or gives 0: zero_output_for_mask) and
/// state; the output before the first step is 0. go_backwards walks T from the end and gives outputs in that order.
struct Rnn {
  RnnCell cell = RnnCell::lstm;
  Unary activation{UnaryFn::tanh};
  Unary recurrent_activation{UnaryFn::sigmoid};
  bool bias = true;
  bool mask = false;
  bool initial_state = false;
  bool reset_after = true;  ///< gru: multiply by r after the recurrent product
  bool go_backwards = false;
  bool return_sequences = false;
  bool return_state = false;
  bool zero_output_for_mask = false;
};

}  // namespace attn::graph
