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

/// Returns the index of the largest logit of a row.
[[nodiscard]] Id best_token(const Tensor& logits, std::int64_t row);

/// Returns the metric at the last row of logits (T,V).
[[nodiscard]] double value_of(const Metric& metric, const Tensor& logits);

/// The probabilities of all tokens and their logarithms.
struct Distribution {
  std::vector<double> p, log_p;

  /// Returns −Σ p·ln p, in nats.
  [[nodiscard]] double entropy() const;
};

/// Returns the distribution at a row of logits (T,V). Throws Error (differs) if one is NaN or +∞, or all are −∞.
[[nodiscard]] Distribution distribution(const Tensor& logits, std::int64_t row);

/// Returns Σ p·ln(p/q), in nats.
[[nodiscard]] double divergence(const Distribution& p, const Distribution& q);

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
  Measure(const Tensor& logits, const Prompt& prompt, const Metric& metric, const Subject& subject);
  [[nodiscard]] Measured of(const Tensor& logits) const;

 private:
  std::vector<Distribution> before_;
  const Prompt& prompt_;
  Metric metric_;
  int threads_;
  bool has_loss_;
};

}  // namespace attn::probe
