#include "attn/train/fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "attn/base/error.h"
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
  // When it averages the losses of the outputs, Keras on TensorFlow ignores the number of rows in a batch, so every
  // batch has the same weight.
  for (std::size_t i = 0; i < of_outputs && of_outputs > 1; ++i) add_mean(terms[i], pass.terms[i], 1.0);
  for (std::size_t i = 0; i < pass.metrics.size(); ++i) {
    Running& sums = running[trainer.metrics()[i]];
    add_to(sums.total, pass.metrics[i].total);
    add_to(sums.count, pass.metrics[i].count);
    sums.rule = trainer.rules()[i];
  }
}

/// Gives the sums of an epoch that is resumed the rules of the model's metrics, and drops those of other metrics.
void restore_rules(Trainer& trainer, const Batch& batch, RunningValues& running) {
  trainer.prepare(batch);
  std::erase_if(running, [&](const auto& each) {
    return each.first != "loss" && std::ranges::count(trainer.terms(), each.first) == 0 &&
           std::ranges::count(trainer.metrics(), each.first) == 0;
  });
  for (std::size_t i = 0; i < trainer.metrics().size(); ++i)
    if (const auto sums = running.find(trainer.metrics()[i]); sums != running.end())
      sums->second.rule = trainer.rules()[i];
}

/// All ranks stop together, between two passes.
void throw_if_any_stopped(const Trainer& trainer) {
  if (trainer.anywhere(stop_requested())) throw Stopped();
}

Batch gather(const Data& data, std::span<const std::int64_t> rows) {
  const ComputeGuard computing;
  return data.gather(rows);
}

std::vector<std::int64_t> file_order(std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::span<const std::int64_t> rows_of(const std::vector<std::int64_t>& order, std::int64_t batch, std::int64_t size) {
  const auto first = static_cast<std::size_t>(batch * size);
  return std::span(order).subspan(first, std::min(static_cast<std::size_t>(size), order.size() - first));
}

std::vector<std::int64_t> order_of(const FitOptions& options, std::int64_t pass, std::int64_t rows) {
  if (!options.shuffle) return file_order(rows);
  return options.shuffled_block > 0 ? permutation_of_blocks(options.seed, pass, rows, options.shuffled_block)
                                    : permutation(options.seed, pass, rows);
}

}  // namespace

std::int64_t FitOptions::batches_of(std::int64_t rows) const {
  return rows / batch_size + (!drop_remainder && rows % batch_size > 0 ? 1 : 0);
}

std::int64_t FitOptions::steps_in_all(std::int64_t rows) const {
  const std::int64_t batches = batches_of(rows), each = std::min(steps_per_epoch.value_or(batches), batches);
  const std::int64_t epochs_of_pass = each == 0 ? 1 : (batches + each - 1) / each, passes = epochs / epochs_of_pass;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const bool is_endless = batches > 0 && passes >= kMost / batches;
  const std::int64_t all = is_endless ? kMost : passes * batches + epochs % epochs_of_pass * each;
  return std::min(all, steps.value_or(all));
}

EpochRange epoch_range_of(std::int64_t epoch, std::int64_t rows, const FitOptions& options) {
  const std::int64_t batches = options.batches_of(rows);
  if (!options.steps_per_epoch || batches == 0) return {epoch, 0, batches};
  const std::int64_t each = std::min(*options.steps_per_epoch, batches), epochs_of_pass = (batches + each - 1) / each;
  const std::int64_t first = epoch % epochs_of_pass * each;
  return {epoch / epochs_of_pass, first, std::min(each, batches - first)};
}

RunningValues evaluate(Trainer& trainer, const Data& data, std::int64_t batch_size) {
  RunningValues out;
  const std::vector<std::int64_t> order = file_order(data.rows());
  for (std::int64_t batch = 0; batch * batch_size < data.rows(); ++batch) {
    if (trainer.has_ranks()) throw_if_any_stopped(trainer);
    const auto rows = rows_of(order, batch, batch_size);
    const PassResult pass = trainer.evaluate(gather(data, rows));
    add(trainer, pass, static_cast<std::int64_t>(rows.size()), out);
  }
  return out;
}

std::string_view name_of(FitEnd end) {
  switch (end) {
    case FitEnd::epochs:
      return "epochs";
    case FitEnd::steps:
      return "steps";
    case FitEnd::deadline:
      return "time limit";
    case FitEnd::listener:
      return "early stopping";
    case FitEnd::not_finite:
      return "not finite";
    case FitEnd::interrupted:
      return "interrupted";
    case FitEnd::plan:
      return "plan";
  }
  throw internal_error("the training has no end");
}

FitEnd fit(Trainer& trainer, const Data& data, const Data* validation, const FitOptions& options, Position& position,
           const FitEvents& events) {
  std::optional<NoStopGuard> held;
  if (trainer.has_ranks()) held.emplace();
  const std::int64_t size = options.batch_size;
  while (position.epoch < options.epochs) {
    const auto start = Clock::now();
    const EpochRange range = epoch_range_of(position.epoch, data.rows(), options);
    if (events.begin) events.begin(position.epoch + 1, range.batches);
    const std::vector<std::int64_t> order = order_of(options, range.pass, data.rows());
    if (!position.running.empty()) restore_rules(trainer, gather(data, rows_of(order, 0, size)), position.running);
    while (position.batch < range.batches) {
      if (options.steps && position.step >= *options.steps) return FitEnd::steps;
      throw_if_any_stopped(trainer);
      const auto begun = Clock::now();
      const auto rows = rows_of(order, range.first + position.batch, size);
      const StepResult result = trainer.step(gather(data, rows));
      const auto count = static_cast<std::int64_t>(rows.size());
      RunningValues values;
      add(trainer, result, count, values);
      if (!result.not_finite.empty()) {
        if (events.step) events.step({result, position, values, count, seconds_since(begun)});
        return FitEnd::not_finite;
      }
      add(trainer, result, count, position.running);
      ++position.batch;
      ++position.step;
      if (events.step) events.step({result, position, values, count, seconds_since(begun)});
      if (options.deadline && trainer.anywhere(Clock::now() >= *options.deadline)) return FitEnd::deadline;
    }
    EpochEvent event{position.epoch + 1, range.batches, 0.0, position.running, {}};
    if (validation != nullptr) event.validation = evaluate(trainer, *validation, size);
    event.seconds = seconds_since(start);
    const bool goes_on = !events.judge || events.judge(event);
    ++position.epoch;
    position.batch = 0;
    position.running.clear();
    if (events.epoch) events.epoch(event);
    if (!goes_on) return FitEnd::listener;
  }
  return FitEnd::epochs;
}

}  // namespace attn::train
