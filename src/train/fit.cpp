#include "attn/train/fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "attn/base/stop.h"

namespace attn::train {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void add_to(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(more.size(), 0.0);
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

void add(const Trainer& trainer, const PassResult& pass, std::int64_t rows, RunningValues& running) {
  const auto add_mean = [&](const std::string& name, double value, double count) {
    Running& sums = running[name];
    add_to(sums.total, {value * count});
    add_to(sums.count, {count});
  };
  add_mean("loss", pass.loss, static_cast<double>(rows));
  const std::vector<std::string>& terms = trainer.terms();
  const auto of_outputs = terms.size() - static_cast<std::size_t>(std::ranges::count(terms, "regularization"));
  // Keras on TensorFlow does not know how many rows a batch has when it adds up what the outputs lose, and so every
  // batch counts as much as another.
  for (std::size_t i = 0; i < of_outputs && of_outputs > 1; ++i) add_mean(terms[i], pass.terms[i], 1.0);
  for (std::size_t i = 0; i < pass.metrics.size(); ++i) {
    Running& sums = running[trainer.metrics()[i]];
    add_to(sums.total, pass.metrics[i].total);
    add_to(sums.count, pass.metrics[i].count);
    sums.kind = trainer.kinds()[i];
  }
}

/// Ranks end together, between two passes.
void throw_if_any_stopped(const Trainer& trainer) {
  if (trainer.anywhere(stop_requested())) throw Stopped();
}

std::vector<std::int64_t> as_they_come(std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::span<const std::int64_t> rows_of(const std::vector<std::int64_t>& order, std::int64_t batch, std::int64_t size) {
  const auto first = static_cast<std::size_t>(batch * size);
  return std::span(order).subspan(first, std::min(static_cast<std::size_t>(size), order.size() - first));
}

}  // namespace

RunningValues evaluate(Trainer& trainer, const Data& data, std::int64_t batch_size) {
  RunningValues out;
  const std::vector<std::int64_t> order = as_they_come(data.rows());
  for (std::int64_t batch = 0; batch * batch_size < data.rows(); ++batch) {
    if (trainer.has_ranks()) throw_if_any_stopped(trainer);
    const auto rows = rows_of(order, batch, batch_size);
    const PassResult pass = trainer.evaluate(data.gather(rows));
    add(trainer, pass, static_cast<std::int64_t>(rows.size()), out);
  }
  return out;
}

FitEnd fit(Trainer& trainer, const Data& data, const Data* validation, const FitOptions& options, Position& position,
           const FitEvents& events) {
  std::optional<StopHeld> held;
  if (trainer.has_ranks()) held.emplace();
  const std::int64_t size = options.batch_size;
  const std::int64_t batches = options.drop_remainder ? data.rows() / size : (data.rows() + size - 1) / size;
  while (position.epoch < options.epochs) {
    const auto start = Clock::now();
    if (events.begin) events.begin(position.epoch + 1, batches);
    const std::vector<std::int64_t> order =
        options.shuffle ? permutation(options.seed, position.epoch, data.rows()) : as_they_come(data.rows());
    while (position.batch < batches) {
      if (options.steps && position.step >= *options.steps) return FitEnd::steps;
      throw_if_any_stopped(trainer);
      const auto begun = Clock::now();
      const auto rows = rows_of(order, position.batch, size);
      const StepResult result = trainer.step(data.gather(rows));
      if (!result.not_finite.empty()) {
        if (events.step) events.step({result, position, static_cast<std::int64_t>(rows.size()), seconds_since(begun)});
        return FitEnd::not_finite;
      }
      add(trainer, result, static_cast<std::int64_t>(rows.size()), position.running);
      ++position.batch;
      ++position.step;
      if (events.step) events.step({result, position, static_cast<std::int64_t>(rows.size()), seconds_since(begun)});
      if (options.deadline && trainer.anywhere(Clock::now() >= *options.deadline)) return FitEnd::deadline;
    }
    EpochEvent event{position.epoch + 1, batches, 0.0, position.running, {}};
    if (validation != nullptr) event.validation = evaluate(trainer, *validation, size);
    event.seconds = seconds_since(start);
    ++position.epoch;
    position.batch = 0;
    position.running.clear();
    if (events.epoch && !events.epoch(event)) return FitEnd::listener;
  }
  return FitEnd::epochs;
}

}  // namespace attn::train
