#include "attn/probe/measure.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"
#include "attn/base/parallel.h"
#include "attn/base/rows.h"

namespace attn::probe {

using graph::ValueId;

template <typename T>
Softmax softmax(std::span<const T> logits, std::int64_t position) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0, mean = 0;
  for (const T logit : logits) {
    const double below = static_cast<double>(logit) - largest, power = std::exp(below);
    sum += power;
    if (power > 0) mean += power * below;
  }
  const double log_sum = std::log(sum);
  if (!std::isfinite(largest + log_sum))
    throw Error(ExitCode::differs, fmt::format("the logits at position {} are NaN or infinite", position));
  return {largest + log_sum, log_sum - mean / sum};
}

template Softmax softmax(std::span<const float> logits, std::int64_t position);
template Softmax softmax(std::span<const double> logits, std::int64_t position);

void require_token(Id token, std::int64_t count) {
  if (token < 0 || token >= count) throw bad_usage("token {} is outside the model's logits, 0 to {}", token, count - 1);
}

Metric metric_or_best(const std::optional<Metric>& metric, const Tensor& logits) {
  if (!metric) return {best_token(logits), {}};
  require_token(metric->token, logits.shape().back());
  if (metric->versus) require_token(*metric->versus, logits.shape().back());
  return *metric;
}

Id best_token(const Tensor& logits) {
  return with_row(logits, logits.size() / logits.shape().back() - 1,
                  [](auto all) { return static_cast<Id>(std::ranges::max_element(all) - all.begin()); });
}

double value_of(const Metric& metric, const Tensor& logits) {
  const std::int64_t width = logits.shape().back(), first = logits.size() - width;
  const double value = logits.at(first + metric.token);
  return metric.versus ? value - logits.at(first + *metric.versus) : value;
}

ValueId append_metric(graph::Graph& graph, ValueId logits, const Metric& metric) {
  graph::Builder builder(graph);
  const Shape shape = builder.shape(logits);
  const auto sum_of = [&](Id token) {
    graph::Slice slice;
    slice.ranges.emplace_back();
    if (shape.rank() == 3) slice.ranges.push_back({shape[1] - 1, shape[1], 1});
    slice.ranges.push_back({token, token + 1, 1});
    graph::Reduce sum{graph::ReduceFn::sum, {}, false};
    for (int axis = 0; axis < shape.rank(); ++axis) sum.axes.push_back(axis);
    ValueId one = builder.apply(slice, {logits});
    if (builder.dtype(one) != DType::float64) one = builder.cast(one, DType::float32);
    return builder.apply(sum, {one});
  };
  ValueId out = sum_of(metric.token);
  if (metric.versus) out = builder.binary(graph::BinaryFn::subtract, out, sum_of(*metric.versus));
  graph.outputs = {{"metric", out}};
  return out;
}

Distribution::Distribution(const Tensor& logits, std::int64_t row, DType dtype) : p_(dtype, {logits.shape().back()}) {
  const Tensor log_p(dtype, {1});
  with_row(logits, row, [&](auto all) {
    const Softmax sums = softmax(all, row);
    for (std::int64_t i = 0; i < p_.size(); ++i) {
      const double exact = static_cast<double>(all[static_cast<std::size_t>(i)]) - sums.log_sum;
      p_.set(i, std::exp(exact));
      log_p.set(0, exact);
      const double p = p_.at(i);
      sum_ += p;
      if (p > 0) mean_log_p_ += p * log_p.at(0);
    }
  });
}

Measure::Measure(const Tensor& logits, const Prompt& prompt, const Metric& metric, const Subject& subject,
                 const Lowered& lowered)
    : prompt_(prompt),
      metric_(metric),
      threads_(subject.execution().threads),
      has_loss_(subject.predicts_next() && logits.shape()[0] > 1 &&
                logits.shape().back() >= lowered.vocabulary.value_or(0)) {
  for (std::int64_t row = 0; row < logits.shape()[0]; ++row) before_.emplace_back(logits, row, DType::float64);
}

Measured Measure::of(const Tensor& logits) const {
  const std::int64_t rows = logits.shape()[0];
  std::vector<double> losses(before_.size()), divergences(before_.size());
  for_each_part(rows, threads_, [&](std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    with_row(logits, row, [&](auto all) {
      const Softmax after = softmax(all, row);
      divergences[at] = before_[at].divergence_to(all, after);
      if (has_loss_ && row + 1 < rows)
        losses[at] = after.log_sum - static_cast<double>(all[static_cast<std::size_t>(prompt_.ids[at + 1])]);
    });
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
