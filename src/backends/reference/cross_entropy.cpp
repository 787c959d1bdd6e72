// Softmax cross-entropy with labels or probabilities.
#include <cmath>
#include <limits>

#include "attn/base/error.h"
#include "kernels.h"
#include "numbers.h"
#include "rows.h"

namespace attn::backends::reference {
namespace {

using Vector = std::vector<double>;

/// Rows of logits with their targets.
class Rows {
 public:
  Rows(const Tensor& logits, const Tensor& labels)
      : logits_(read<double>(logits)), classes_(static_cast<std::size_t>(logits.shape().back())) {
    count_ = static_cast<std::size_t>(logits.shape().slice(0, logits.shape().rank() - 1).size());
    if (!is_integer(labels.dtype())) {
      probabilities_ = read<double>(labels);
      return;
    }
    for (const std::int64_t label : read<std::int64_t>(labels)) {
      if (label < 0 || label >= logits.shape().back()) {
        throw bad_input("label {} at {} is not one of {} classes", label,
                        coordinates(static_cast<std::int64_t>(labels_.size()), labels.shape()), classes_);
      }
      labels_.push_back(static_cast<std::size_t>(label));
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] double logit(std::size_t row, std::size_t c) const { return logits_[row * classes_ + c]; }
  /// Returns whether the targets are labels: one class per row.
  [[nodiscard]] bool is_sparse() const { return probabilities_.empty(); }
  [[nodiscard]] std::size_t label(std::size_t row) const { return labels_[row]; }
  [[nodiscard]] double probability(std::size_t row, std::size_t c) const { return probabilities_[row * classes_ + c]; }

  [[nodiscard]] double logsumexp(std::size_t row) const {
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < classes_; ++c) maximum = std::max(maximum, logit(row, c));
    double sum = 0.0;
    for (std::size_t c = 0; c < classes_; ++c) sum += std::exp(logit(row, c) - maximum);
    return maximum + std::log(sum);
  }

 private:
  Vector logits_, probabilities_;
  std::vector<std::size_t> labels_;
  std::size_t count_, classes_;
};

}  // namespace

void compute(const graph::SoftmaxCrossEntropy&, Tensors in, Tensors out) {
  const Rows rows(in[0], in[1]);
  Vector y(rows.count());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double lse = rows.logsumexp(i);
    if (rows.is_sparse()) {
      y[i] = lse - rows.logit(i, rows.label(i));
      continue;
    }
    for (std::size_t c = 0; c < rows.classes(); ++c) y[i] += rows.probability(i, c) * (lse - rows.logit(i, c));
  }
  write(out[0], y);
}

void compute(const graph::SoftmaxCrossEntropyGrad&, Tensors in, Tensors out) {
  const Rows rows(in[0], in[1]);
  const auto dy = read<double>(in[2]);
  Vector dlogits;
  dlogits.reserve(static_cast<std::size_t>(out[0].size()));
  for (std::size_t i = 0; i < rows.count(); ++i) {
    const double lse = rows.logsumexp(i);
    double sum = rows.is_sparse() ? 1.0 : 0.0;  // Σ of the probabilities
    if (!rows.is_sparse())
      for (std::size_t c = 0; c < rows.classes(); ++c) sum += rows.probability(i, c);
    for (std::size_t c = 0; c < rows.classes(); ++c) {
      const double wanted = !rows.is_sparse() ? rows.probability(i, c) : c == rows.label(i) ? 1.0 : 0.0;
      dlogits.push_back((std::exp(rows.logit(i, c) - lse) * sum - wanted) * dy[i]);
    }
  }
  write(out[0], dlogits);
}

}  // namespace attn::backends::reference
