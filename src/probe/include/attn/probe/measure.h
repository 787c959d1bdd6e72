// Measures of logits, in double.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attn/base/rows.h"
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

/// Two sums over a row of logits.
struct Softmax {
  double log_sum = 0;  ///< ln Σ exp(logit); the logarithm of a probability is the logit minus this
  double entropy = 0;  ///< −Σ p·ln p, in nats
};

/// Returns the sums of the logits at a position. Throws Error (differs) if one is NaN or +∞, or all are −∞.
template <typename T>
[[nodiscard]] Softmax softmax(std::span<const T> logits, std::int64_t position);

/// Calls read(logits) with a row of logits (T,V) as a span of float or double.
template <typename Read>
auto with_row(const Tensor& logits, std::int64_t row, const Read& read) {
  const std::int64_t width = logits.shape().back();
  const Tensor own = rows_view(logits.reshaped({logits.size() / width, width}), row, 1);
  if (own.dtype() == DType::float64) return read(own.as<const double>());
  return read((own.dtype() == DType::float32 ? own : own.cast(DType::float32)).as<const float>());
}

/// The probabilities of a row of logits, with which other rows are compared.
class Distribution {
 public:
  Distribution() = default;
  /// Rounds probabilities and their logarithms to `dtype`, float32 or float64.
  Distribution(const Tensor& logits, std::int64_t row, DType dtype);
  /// Returns KL(this ‖ other) for another row of logits and its sums, in nats.
  template <typename T>
  [[nodiscard]] double divergence_to(std::span<const T> logits, const Softmax& sums) const {
    return p_.dtype() == DType::float32 ? divergence<float>(logits, sums) : divergence<double>(logits, sums);
  }

 private:
  template <typename P, typename T>
  [[nodiscard]] double divergence(std::span<const T> logits, const Softmax& sums) const {
    const std::span<const P> p = p_.as<const P>();
    double mean = 0;  // the mean of the other logits, without 0·−∞
    for (std::size_t i = 0; i < p.size(); ++i)
      mean += p[i] > 0 ? static_cast<double>(p[i]) * static_cast<double>(logits[i]) : 0.0;
    return mean_log_p_ - mean + sum_ * sums.log_sum;
  }

  Tensor p_;
  double sum_ = 0, mean_log_p_ = 0;  ///< Σ p and Σ p·ln p of the rounded numbers
};

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
