// Measures of logits, in double.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// The number that an operation follows: logit[token] − logit[versus] at the last position, or only logit[token].
struct Metric {
  Id token = 0;
  std::optional<Id> versus;
};

/// Returns the index of the largest logit of the last row.
[[nodiscard]] Id best_token(const Tensor& logits);

/// Returns the metric at the last row of logits (T,V).
[[nodiscard]] double value_of(const Metric& metric, const Tensor& logits);
/// Appends the metric, summed over the rows of the batch: a scalar. Returns its value. The graph keeps no outputs.
[[nodiscard]] graph::ValueId append_metric(graph::Graph& graph, graph::ValueId logits, const Metric& metric);

/// Throws Error (usage) if a token is outside `count` logits.
void require_token(Id token, std::int64_t count);
/// Returns the metric; by default the logit of the best token at the last row. Throws Error (usage) if a token is
/// outside the logits.
[[nodiscard]] Metric metric_or_best(const std::optional<Metric>& metric, const Tensor& logits);

/// The probabilities of all tokens and their logarithms.
template <typename Number>
struct DistributionOf {
  std::vector<Number> p, log_p;
};
using Distribution = DistributionOf<double>;

/// Returns the distribution at a row of logits (T,V). Throws Error (differs) if one is NaN or +∞, or all are −∞.
[[nodiscard]] Distribution distribution(const Tensor& logits, std::int64_t row);

/// Returns −Σ p·ln p, in nats.
[[nodiscard]] double entropy(const Distribution& of);

/// Returns Σ p·ln(p/q), in nats.
template <typename Number>
[[nodiscard]] double divergence(const DistributionOf<Number>& p, const Distribution& q) {
  double sum = 0;
  for (std::size_t i = 0; i < p.p.size(); ++i)
    if (p.p[i] > 0) sum += static_cast<double>(p.p[i]) * (static_cast<double>(p.log_p[i]) - q.log_p[i]);
  return sum;
}

/// The loss and divergence of a pass relative to another one.
struct Measured {
  /// Mean over positions of −ln p of the next token, in nats; empty for a classifier and a masked language model.
  std::optional<double> loss;
  double kl = 0;  ///< mean over positions of KL(before ‖ after), in nats
  double metric = 0;
};

/// Measures passes of one prompt against the logits (T,V) without edits.
class Measure {
 public:
  Measure(const Tensor& logits, const Prompt& prompt, const Metric& metric, const Subject& subject,
          const Lowered& lowered);
  [[nodiscard]] Measured of(const Tensor& logits) const;

 private:
  std::vector<Distribution> before_;
  const Prompt& prompt_;
  Metric metric_;
  int threads_;
  bool has_loss_;
};

}  // namespace attn::probe
