#include "attend.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "attn/base/stop.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

using graph::AttentionPath;

struct Sum {
  double maximum = -std::numeric_limits<double>::infinity();
  double of_exponentials = 0.0;  // sum of the shifted exponentials
  [[nodiscard]] double logarithm() const { return maximum + std::log(of_exponentials); }
};

/// Computes the softmax of a row; all NaN if one score is NaN or +∞.
Sum softmax_sums(std::vector<double>& row) {
  Sum sum;
  for (const double x : row) sum.maximum = std::max(sum.maximum, x);
  for (double& x : row) sum.of_exponentials += x = std::exp(x - sum.maximum);
  for (double& x : row) x /= sum.of_exponentials;
  return sum;
}

}  // namespace

double masked_score(AttentionPath path, DType dtype) {
  constexpr double kFused = -0.7 * std::numeric_limits<float>::max();
  if (path == AttentionPath::fused) return kFused;
  return dtype == DType::float16 ? -3e4 : -1e9;
}

BroadcastToScores::BroadcastToScores(const Tensor& array, const Shape& scores)
    : numbers(read<double>(array)), strides(broadcast_strides(array.shape(), scores)) {}

bool Rules::sees(Dim b, Dim n, Dim t, Dim s) const {
  const Dim place = first + t;
  if (causal && s > place) return false;
  if (window && std::abs(place - s) >= *window) return false;
  return std::all_of(masks.begin(), masks.end(),
                     [&](const BroadcastToScores& mask) { return mask.at(b, n, t, s) != 0.0; });
}

double score_of(const Rules& rules, double product, Dim b, Dim n, Dim t, Dim s) {
  double score = rules.scale * product;
  if (rules.soft_cap > 0.0) score = rules.soft_cap * std::tanh(score / rules.soft_cap);
  if (rules.bias) score += rules.bias->at(b, n, t, s);
  return score;
}

Attended attend(const Rules& rules, const Tensor& query, const Tensor& key, const Tensor& value, bool wants_lse) {
  const Dim B = query.shape()[0], T = query.shape()[1], N = query.shape()[2], H = query.shape()[3];
  const Dim S = key.shape()[1], K = key.shape()[2], V = value.shape()[3];
  const auto queries = read<double>(query);
  const auto keys = read<double>(key);
  const auto values = read<double>(value);
  Attended out;
  out.context.assign(static_cast<std::size_t>(B * T * N * V), 0.0);
  out.scores.resize(static_cast<std::size_t>(B * N * T * S));
  std::vector<double> row(static_cast<std::size_t>(S));
  for (Dim b = 0; b < B; ++b) {
    for (Dim n = 0; n < N; ++n) {
      const Dim k = n / (N / K);
      for (Dim t = 0; t < T; ++t) {
        throw_if_stopped();
        const double* const q = queries.data() + ((b * T + t) * N + n) * H;
        bool any = false;
        for (Dim s = 0; s < S; ++s) {
          const double* const key_head = keys.data() + ((b * S + s) * K + k) * H;
          double product = 0.0;
          for (Dim h = 0; h < H; ++h) product += q[h] * key_head[h];
          const double score = score_of(rules, product, b, n, t, s);
          const bool sees = rules.sees(b, n, t, s);
          row[static_cast<std::size_t>(s)] = sees ? score : rules.hidden;
          any = any || sees;
        }
        const Sum sum = softmax_sums(row);
        if (wants_lse) out.lse.push_back(any ? sum.logarithm() : -std::numeric_limits<double>::infinity());
        if (rules.path == AttentionPath::explicit_) {
          for (Dim s = 0; s < S; ++s) {
            if (!rules.sees(b, n, t, s)) row[static_cast<std::size_t>(s)] = 0.0;
          }
        }
        double* const c = out.context.data() + ((b * T + t) * N + n) * V;
        for (Dim s = 0; s < S; ++s) {
          const double* const value_head = values.data() + ((b * S + s) * K + k) * V;
          for (Dim v = 0; v < V; ++v) c[v] += row[static_cast<std::size_t>(s)] * value_head[v];
        }
        std::ranges::copy(row, out.scores.begin() + ((b * N + n) * T + t) * S);
      }
    }
  }
  return out;
}

}  // namespace attn::backends::reference
