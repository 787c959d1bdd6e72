// Scaled dot-product attention, one row of scores at a time.
//
// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

using graph::AttentionPath;

/// What a masked score becomes (Keras: ops.dot_product_attention, layers.Softmax).
double masked_score(AttentionPath path, DType dtype) {
  constexpr double kFused = -0.7 * std::numeric_limits<float>::max();
  if (path == AttentionPath::fused) return kFused;
  return dtype == DType::float16 ? -3e4 : -1e9;
}

/// softmax of a row; all NaN where one score is NaN or +∞.
void softmax(std::vector<double>& row) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (const double x : row) maximum = std::max(maximum, x);
  double sum = 0.0;
  for (double& x : row) sum += x = std::exp(x - maximum);
  for (double& x : row) x /= sum;
}

/// Takes the packed input apart.
void compute_packed(const graph::Attention& op, Tensors in, Tensors out) {
  const Shape& packed = in[0].shape();  // (B, T, N+2K, H)
  const Dim keys = op.packed_heads, queries = packed[2] - 2 * keys;
  std::vector<Tensor> parts;
  for (const auto& [first, count] : {std::pair(Dim{0}, queries), {queries, keys}, {queries + keys, keys}}) {
    parts.emplace_back(in[0].dtype(), Shape{packed[0], packed[1], count, packed[3]});
    graph::Slice slice{{{}, {}, {first, first + count}, {}}};
    compute(slice, in.first(1), std::span(&parts.back(), 1));
  }
  parts.insert(parts.end(), in.begin() + 1, in.end());
  graph::Attention unpacked = op;
  unpacked.packed_heads = 0;
  compute(unpacked, parts, out);
}

/// Rows [first, first + count) of x (1, P, …).
Tensor rows_of(const Tensor& x, Dim first, Dim count) {
  graph::Slice slice{{{}, {first, first + count}, {}, {}}};
  Shape shape = x.shape();
  shape[1] = count;
  Tensor out(x.dtype(), shape);
  compute(slice, std::span(&x, 1), std::span(&out, 1));
  return out;
}

/// One sequence after the other.
void compute_varlen(const graph::Attention& op, Tensors in, Tensors out) {
  graph::Attention one = op;
  one.varlen = 0;
  const auto starts = read<std::int64_t>(in.back());
  const Dim rows = in[0].shape()[1];
  std::vector<double> whole_context(static_cast<std::size_t>(out[0].size()), 0.0);
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    const Dim first = starts[b], count = starts[b + 1] - first;
    if (first < 0 || count < 0 || count > op.varlen || first + count > rows) {
      throw bad_input("sequence {} is the rows from {} to {} of {}, and at most {}", b, first, first + count, rows,
                      op.varlen);
    }
    if (count == 0) continue;
    std::vector<Tensor> parts;
    for (const Tensor& whole : in.first(in.size() - 1)) parts.push_back(rows_of(whole, first, count));
    Tensor context = rows_of(out[0], first, count);
    compute(one, parts, std::span(&context, 1));
    const auto numbers = read<double>(context);
    std::ranges::copy(numbers, whole_context.begin() + first * (out[0].size() / rows));
  }
  write(out[0], whole_context);
}

}  // namespace

void compute(const graph::Attention& op, Tensors in, Tensors out) {
  if (op.varlen > 0) return compute_varlen(op, in, out);
  if (op.packed_heads > 0) return compute_packed(op, in, out);
  const Shape& q_shape = in[0].shape();
  const Shape& k_shape = in[1].shape();
  const Dim B = q_shape[0], T = q_shape[1], N = q_shape[2], H = q_shape[3];
  const Dim S = k_shape[1], K = k_shape[2], V = in[2].shape()[3];
  const Shape scores_shape{B, N, T, S};

  const auto query = read<double>(in[0]);  // (B,T,N,H)
  const auto key = read<double>(in[1]);    // (B,S,K,H)
  const auto value = read<double>(in[2]);  // (B,S,K,V)
  std::vector<std::vector<double>> masks;  // each broadcasts to (B,N,T,S)
  std::vector<Offsets> mask_strides;
  for (const Tensor& mask : in.subspan(3)) {
    masks.push_back(read<double>(mask));
    mask_strides.push_back(broadcast_strides(mask.shape(), scores_shape));
  }
  const auto sees = [&](Dim b, Dim n, Dim t, Dim s) {
    if (op.causal && s > t) return false;
    if (op.window && std::abs(t - s) >= *op.window) return false;
    for (std::size_t m = 0; m < masks.size(); ++m) {
      const Offsets& step = mask_strides[m];
      if (masks[m][static_cast<std::size_t>(b * step[0] + n * step[1] + t * step[2] + s * step[3])] == 0.0)
        return false;
    }
    return true;
  };

  const double hidden = masked_score(op.path, in[0].dtype());
  std::vector<double> context(static_cast<std::size_t>(out[0].size()), 0.0);                  // (B,T,N,V)
  std::vector<double> scores(op.scores ? static_cast<std::size_t>(scores_shape.size()) : 0);  // (B,N,T,S)
  std::vector<double> row(static_cast<std::size_t>(S));
  for (Dim b = 0; b < B; ++b) {
    for (Dim n = 0; n < N; ++n) {
      const Dim k = n / (N / K);
      for (Dim t = 0; t < T; ++t) {
        throw_if_stopped();
        const double* const q = query.data() + ((b * T + t) * N + n) * H;
        for (Dim s = 0; s < S; ++s) {
          const double* const key_head = key.data() + ((b * S + s) * K + k) * H;
          double product = 0.0;
          for (Dim h = 0; h < H; ++h) product += q[h] * key_head[h];
          const double score = op.scale * product;
          row[static_cast<std::size_t>(s)] = sees(b, n, t, s) ? score : hidden;
        }
        softmax(row);
        if (op.path == AttentionPath::explicit_) {
          for (Dim s = 0; s < S; ++s) {
            if (!sees(b, n, t, s)) row[static_cast<std::size_t>(s)] = 0.0;
          }
        }
        double* const c = context.data() + ((b * T + t) * N + n) * V;
        for (Dim s = 0; s < S; ++s) {
          const double* const value_head = value.data() + ((b * S + s) * K + k) * V;
          for (Dim v = 0; v < V; ++v) c[v] += row[static_cast<std::size_t>(s)] * value_head[v];
        }
        if (op.scores) std::ranges::copy(row, scores.begin() + ((b * N + n) * T + t) * S);
      }
    }
  }
  write(out[0], context);
  if (op.scores) write(out[1], scores);
}

}  // namespace attn::backends::reference
