#include "attn/probe/measure.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"
#include "attn/base/parallel.h"

namespace attn::probe {
namespace {

std::vector<double> row_of_logits(const Tensor& logits, std::int64_t row) {
  const std::int64_t width = logits.shape().back();
  std::vector<double> out(static_cast<std::size_t>(width));
  const auto copy = [&](const auto& all) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(all[static_cast<std::size_t>(row * width) + i]);
  };
  if (logits.dtype() == DType::float32) {
    copy(logits.as<float>());
  } else {
    for (std::int64_t i = 0; i < width; ++i) out[static_cast<std::size_t>(i)] = logits.at(row * width + i);
  }
  return out;
}

}  // namespace

Id best_token(const Tensor& logits, std::int64_t row) {
  const std::vector<double> all = row_of_logits(logits, row);
  return static_cast<Id>(std::ranges::max_element(all) - all.begin());
}

double value_of(const Metric& metric, const Tensor& logits) {
  const std::int64_t width = logits.shape().back(), first = logits.size() - width;
  const double value = logits.at(first + metric.token);
  return metric.versus ? value - logits.at(first + *metric.versus) : value;
}

Distribution distribution(const Tensor& logits, std::int64_t row) {
  Distribution out;
  out.log_p = row_of_logits(logits, row);
  out.p.resize(out.log_p.size());
  const double largest = *std::ranges::max_element(out.log_p);
  double sum = 0;
  for (std::size_t i = 0; i < out.p.size(); ++i) sum += out.p[i] = std::exp(out.log_p[i] - largest);
  const double offset = largest + std::log(sum);
  if (!std::isfinite(offset))
    throw Error(ExitCode::differs, fmt::format("the logits at position {} are NaN or infinite", row));
  for (double& p : out.p) p /= sum;
  for (double& log_p : out.log_p) log_p -= offset;
  return out;
}

double divergence(const Distribution& p, const Distribution& q) {
  double sum = 0;
  for (std::size_t i = 0; i < p.p.size(); ++i)
    if (p.p[i] > 0) sum += p.p[i] * (p.log_p[i] - q.log_p[i]);
  return sum;
}

double Distribution::entropy() const {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) sum -= p[i] * log_p[i];
  return sum;
}

Measure::Measure(const Tensor& logits, const Prompt& prompt, const Metric& metric, const Subject& subject)
    : prompt_(prompt),
      metric_(metric),
      threads_(subject.execution().threads),
      has_loss_(subject.predicts_next() && logits.shape()[0] > 1 &&
                logits.shape().back() >= subject.vocabulary().value_or(0)) {
  for (std::int64_t row = 0; row < logits.shape()[0]; ++row) before_.push_back(distribution(logits, row));
}

Measured Measure::of(const Tensor& logits) const {
  const std::int64_t rows = logits.shape()[0];
  std::vector<double> losses(before_.size()), divergences(before_.size());
  for_each_part(rows, threads_, [&](std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    const Distribution after = distribution(logits, row);
    divergences[at] = divergence(before_[at], after);
    if (has_loss_ && row + 1 < rows) losses[at] = -after.log_p[static_cast<std::size_t>(prompt_.ids[at + 1])];
  });
  Measured out;
  double loss = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    out.kl += divergences[static_cast<std::size_t>(row)] / static_cast<double>(rows);
    loss += losses[static_cast<std::size_t>(row)];
  }
  if (has_loss_) out.loss = loss / static_cast<double>(rows - 1);
  out.metric = value_of(metric_, logits);
  return out;
}

}  // namespace attn::probe
