// Scaled dot-product attention, one row of scores at a time.
//
// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

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

}  // namespace

void compute(const graph::Attention& op, Tensors in, Tensors out) {
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
