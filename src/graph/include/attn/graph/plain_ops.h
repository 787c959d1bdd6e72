// The operations of a model's own graph.
//
// Letters: B batch, T query length, S key/value length, N query heads, K key/value heads, H head size, D width. Inputs
// and outputs are listed as [in, …] → [out, …]; `in?` is present if the field of that name is set. All inputs of an
// operation have the same dtype unless stated otherwise; mixed dtypes are joined by Cast.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/graph/unary_functions.h"

namespace attn::graph {

/// [x] → [f(x)]; a, b and c are the parameters of the formula.
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

/// [x] → [x in another dtype]; conversion to an integer truncates, to bool tests x != 0.
struct Cast {
  DType dtype = DType::float32;
};

/// [x (…, k₁…kₙ), kernel (k₁…kₙ, m…), bias? (m…), residual? (…, m…)] → [activation(x·kernel + bias) + residual (…,
/// m…)]. A dense map that contracts the last `contracted` axes of x with the first of kernel. Dense has 1 and kernel
/// (D, units); attention's projections have (D, N, H), its output projection 2 and (N, H, D).
struct Linear {
  int contracted = 1;
  bool bias = false;
  Unary activation{};
  bool residual = false;
};

/// The range of quantized integers, and the epsilon of their scale.
struct IntegerRange {
  double low = -127.0, high = 127.0;
  double epsilon = 1e-7;  ///< added to the largest magnitude
};

/// [x] → [q int8, scale]. The scale is high/(max |x| over `axes` jointly + ε), with size 1 along these axes, and q =
/// min(max(x·scale, rounded half to even, low), high). Every intermediate result is rounded to x's dtype, as in Keras's
/// abs_max_quantize. Axes are non-negative and ascending.
struct Quantize {
  std::vector<int> axes;
  IntegerRange range;
};

/// Two 4-bit integers in each byte, along an axis. The low half has the one with the even index; two's complement in
/// int8 bytes, 0 to 15 in uint8 bytes.
struct Nibbles {
  int axis = 0;
  Dim size = 0;  ///< unpacked size of the axis; if it is odd, the last byte holds one integer
};

/// [q (int8 or uint8), scale, zero?, groups?] → [numbers of the scale's dtype]: q/scale, where scale broadcasts to q.
/// With a `group_axis` it is (q − zero)·scale: scale and zero have one row per group along that axis, and row i of q
/// uses the row groups[i] (int32). An out-of-range group is an error that names it.
struct Dequantize {
  std::optional<Nibbles> nibbles;
  std::optional<int> group_axis;
};

/// The axis along which a byte of a weight packs two integers.
enum class Pairs : std::uint8_t { none, inputs, outputs };

/// [x (…, k…), kernel (int8 or uint8), scale, zero?, groups?, bias? (m…), residual? (…, m…)] → [activation(x·w + bias)
/// + residual (…, m…)], a Linear whose weight w is stored as integers q. The kernel is (k…, m…), or (m…, k…) if
/// `transposed`. With `pairs` it has two axes, K = ∏k… and M = ∏m…, one of which is packed as in Nibbles. A scale with
/// M elements gives w = q/scale. If `grouped`, w = (q − zero)·scale, where scale and zero are (groups, M), or (M,
/// groups) if transposed, and row k of K uses group groups[k] (int32). In this case, and if `rounded`, w is rounded to
/// the scale's dtype; otherwise x·q is divided by the scale. With `inputs`, x is quantized over k… as in Quantize{k…},
/// and the sum is divided by the product of both scales. Intermediate results are then rounded: the sum and the scale
/// of x to x's dtype, the others to the result's. The result has the dtype of x and the scale, or float32 if only one
/// of them is.
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

/// Keras's two attention computations, which differ in masked rows and in half precision.
enum class AttentionPath : std::uint8_t {
  fused,     ///< ops.dot_product_attention: scores·scale and softmax in float32; a masked score becomes
             ///< −0.7·max(float32), so a fully masked row averages the values uniformly
  explicit_  ///< scale on the query, all in the compute dtype; a masked score becomes −1e9 (−3e4 in float16) and its
             ///< probability 0 after the softmax, so a fully masked row gives zeros
};

/// [query (B,T,N,H), key (B,S,K,H), value (B,S,K,Hv), bias?, mask…] → [context (B,T,N,Hv), scores? (B,N,T,S),
/// lse? (B,N,T)].
/// Computes context = softmax(score, masked)·V per head, where score = cap(scale·QKᵀ) + bias; query head n reads
/// key/value head n / (N/K). The bias broadcasts to (B,N,T,S). Each of the `masks` inputs is bool and broadcasts to
/// (B,N,T,S); a position is visible if all of them, and causal and window, allow it. `scores` are the probabilities
/// (Keras's term). `lse` is ln Σ e^score over the visible positions, −∞ if there are none, in float32 (in float64 for
/// float64 inputs).
/// A packed projection (plan::pack_projections) replaces [query, key, value, mask…] by [packed (B,T,N+2K,H), mask…]: N
/// heads of the query, then K of the key, then K of the value.
///
/// Sequences without padding (plan::skip_padding) are concatenated in one batch entry: [query (1,P,N,H), key (1,P,K,H),
/// value (1,P,K,Hv), starts (B+1) int32], or [packed (1,P,N+2K,H), starts]. Sequence b has the rows [starts[b],
/// starts[b+1]), at most `varlen` of them, and sees only itself; rows from starts[B] on are undefined. Such an
/// attention has no bias, masks, window, scores or lse.
struct Attention {
  double scale = 1.0;
  AttentionPath path = AttentionPath::fused;
  double soft_cap = 0.0;  ///< cap(x) = soft_cap·tanh(x/soft_cap); 0: no cap
  bool bias = false;
  int masks = 0;
  bool causal = false;                 ///< position t sees s ≤ t (aligned at the top left, also if T ≠ S)
  std::optional<std::int64_t> window;  ///< position t sees |t − s| < window
  bool scores = false;                 ///< also return the probabilities
  bool lse = false;                    ///< also return the log-sum-exp, for AttentionGrad
  Dim packed_heads = 0;                ///< K of a packed input; 0: query, key and value are three inputs
  Dim varlen = 0;                      ///< maximum length of sequences concatenated in a batch entry; 0: none
};

/// [cache (C,K,S,H), x (B,T,K,H), position () int32] → [cache]. Writes x, rounded to the cache's dtype, into the rows
/// of a state (or the result of an Append) from `position` on. The state is changed in place, so nothing may read its
/// previous contents. C is a multiple of B, and entry b of x goes to entry b·C/B of the cache. Rows beyond the last are
/// an error.
struct Append {};

/// [query (B,T,N,H), keys (C,K,S,H), values (C,K,S,Hv), length () int32, sources? (B,S) int32, bias?, mask…] → [context
/// (B,T,N,Hv)]. Attention to the first `length` rows of caches filled by Append, whose dtype may differ from the
/// query's; later rows are not read. Bias and masks broadcast to (B,N,T,S). Entry b of the query reads entry b·C/B of
/// the caches. With `sources` it reads, row by row, the entry named there: the beams of one prompt share its rows. If
/// causal, the queries are the last T of the `length` rows, and query t sees the rows s ≤ length − T + t. A length
/// below 0 or T, or above S, is an error, and so is an out-of-range source.
struct CachedAttention {
  double scale = 1.0;
  AttentionPath path = AttentionPath::fused;
  double soft_cap = 0.0;  ///< as in Attention
  bool sources = false;
  bool bias = false;
  int masks = 0;
  bool causal = true;
  std::optional<std::int64_t> window;  ///< |(length − T + t) − s| < window
};

enum class NormKind : std::uint8_t {
  layer,     ///< (x − mean)/√(var + ε)
  rms,       ///< x/√(mean(x²) + ε)
  rms_layer  ///< Keras's deprecated rms_scaling: x/√(var + ε), without subtracting the mean
};

/// [x, gamma?, beta?] → [normalized·gamma + beta] with statistics over `axes` jointly, in float32 for half-precision
/// inputs. gamma and beta have the sizes of the axes, in order; axes are non-negative and ascending.
struct LayerNorm {
  NormKind kind = NormKind::layer;
  std::vector<int> axes;
  double epsilon = 1e-3;
  bool scale = true;   ///< has gamma
  bool center = true;  ///< has beta
};

/// [x, mean (C), variance (C), gamma? (C), beta? (C)] → [(x − mean)·gamma/√(variance + ε) + beta], C = size of `axis`.
struct BatchNorm {
  int axis = -1;
  double epsilon = 1e-3;
  bool scale = true;
  bool center = true;
};

enum class ReduceFn : std::uint8_t { sum, mean, max, min, prod, any, all, argmax, argmin, logsumexp };

/// [x] → [x reduced over `axes`]; argmax and argmin take one axis and return int32. Axes are non-negative and
/// ascending; without axes x is unchanged.
struct Reduce {
  ReduceFn fn = ReduceFn::sum;
  std::vector<int> axes;
  bool keepdims = false;
};

/// [x] → [cumulative sum or product along `axis`].
struct Cumulate {
  bool product = false;
  int axis = 0;
  bool reverse = false;    ///< cumulate from the end
  bool exclusive = false;  ///< sums the elements before each one: the first result is 0, or 1 for products
};

/// [x] → [the same elements under `shape`]; −1 stands for the remaining size.
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

/// [x₁, …] → [concatenation along `axis`] (non-negative).
struct Concat {
  int axis = 0;
};

/// One axis of a Slice, with Python's meaning of start:stop:step.
struct Range {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};

/// [x] → [x[ranges]]; one range per axis of x.
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
/// indices count from the end; an out-of-range index is an error that names it.
struct Gather {
  int axis = 0;
};

/// [updates (before… + indices + after…), indices (integer)] → [table (before… + size + after…)]. The gradient of
/// Gather along `axis`: zeros, plus every update added to the row that its index names. There are `axis` axes before.
struct ScatterAdd {
  int axis = 0;
  Dim size = 0;
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
  bool average = false;  ///< the mean of a window; if false, the maximum
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

/// [query, decay, key (B,T,H,K), value (B,T,H,V), a, b (B,T,H,K), state S₀ (B,H,V,K)] → [outputs (B,T,H,V), the last
/// state (B,H,V,K)]. Outputₜ is Sₜ·queryₜ, and Sₜ = Sₜ₋₁·diag(decayₜ) + (Sₜ₋₁·aₜ)·bₜᵀ + valueₜ·keyₜᵀ.
///
/// This is the generalized delta rule of linear attention (RWKV-7, arxiv.org/abs/2503.14456), and with a = key and
/// b = −β·decay·key that of Gated DeltaNet (arxiv.org/abs/2412.06464).
struct DeltaRule {};

// clang-format off
/// OP(type, name in messages and profiles); names.cpp has the names that depend on a field. An operation of a model has a
/// gradient and an ONNX form.
#define ATTN_MODEL_OPS(OP) \
  OP(Unary, "") OP(Binary, "") OP(Select, "select") OP(Cast, "cast") OP(Linear, "linear") OP(MatMul, "matmul") \
  OP(Einsum, "einsum") OP(Softmax, "") OP(Attention, "attention") OP(LayerNorm, "") OP(BatchNorm, "batch_norm") \
  OP(Reduce, "") OP(Cumulate, "") OP(Reshape, "reshape") OP(Transpose, "transpose") OP(Broadcast, "broadcast") \
  OP(Concat, "concat") OP(Slice, "slice") OP(Pad, "pad") OP(Gather, "gather") OP(ScatterAdd, "scatter_add") \
  OP(Iota, "iota") OP(Fill, "fill") OP(Conv, "conv") OP(Pool, "") OP(Rnn, "") \
  OP(DeltaRule, "delta_rule")
/// Operations on integer weights: an ONNX form, no gradient.
#define ATTN_QUANTIZED_OPS(OP) \
  OP(Quantize, "quantize") OP(Dequantize, "dequantize") OP(QuantizedLinear, "quantized_linear")
/// Operations on the KV caches of a decode step.
#define ATTN_CACHE_OPS(OP) \
  OP(Append, "append") OP(CachedAttention, "cached_attention")
// clang-format on

}  // namespace attn::graph
