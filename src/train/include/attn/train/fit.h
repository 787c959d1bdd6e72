// The training loop: epochs over data.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/train/data.h"
#include "attn/train/trainer.h"

namespace attn::train {

struct FitOptions {
  std::int64_t epochs = 1;  ///< total number of epochs, including those before a resume
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> steps;  ///< total number of steps; training ends after this step
  /// Training ends after the first step that passes this time.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool shuffle = true;
  std::int64_t shuffled_block = 0;  ///< if above 0: rows are shuffled in blocks of this size, and inside each block
  bool drop_remainder = false;
  /// The number of steps of an epoch. The next epoch continues in the data where this one ended. An epoch that reaches
  /// the end of the data ends there.
  std::optional<std::int64_t> steps_per_epoch;
  std::uint64_t seed = 0;

  /// Returns the number of batches in the data.
  [[nodiscard]] std::int64_t batches_of(std::int64_t rows) const;
  /// Returns the number of steps until the end of the last epoch, or `steps` if that is smaller.
  [[nodiscard]] std::int64_t steps_in_all(std::int64_t rows) const;
};

/// The range of the data that an epoch reads.
struct EpochRange {
  std::int64_t pass = 0;                ///< number of complete passes over the data before the range
  std::int64_t first = 0, batches = 0;  ///< batches of the current pass
};
/// `epoch` counts from 0. Matches keras/src/trainers/epoch_iterator.py for arrays.
[[nodiscard]] EpochRange epoch_range_of(std::int64_t epoch, std::int64_t rows, const FitOptions& options);

/// The sums of a metric over batches.
struct Running {
  std::vector<double> total, count;
  keras::MetricRule rule;
  /// Returns the value of the metric: one number, or several as for an F score of each class. Throws Error (bad_input)
  /// if the sums do not have the size that the rule expects.
  [[nodiscard]] std::vector<double> values() const;
  /// Returns the mean of `values`, as Keras's progress bar shows it.
  [[nodiscard]] double value() const;
};
using RunningValues = std::map<std::string, Running>;  ///< "loss", "accuracy", …, sorted as Keras prints them
/// Values by name, as Keras logs them at the end of an epoch: one number, or several as for an F score of each class.
using Logs = std::vector<std::pair<std::string, std::vector<double>>>;
/// First those of the training, then "val_…".
[[nodiscard]] Logs logs_of(const RunningValues& training, const RunningValues& validation);
/// Returns one number for each name, the mean of its values, as Keras's progress bar shows it.
[[nodiscard]] std::vector<std::pair<std::string, double>> values_of(const Logs& logs);

/// The position of a training between two steps. A resume needs this, the weights, the optimizer state and the draws.
struct Position {
  std::int64_t epoch = 0;  ///< number of epochs done
  std::int64_t batch = 0;  ///< number of batches done in the current epoch
  std::int64_t step = 0;   ///< total number of steps done
  RunningValues running;   ///< the values of the current epoch so far
};

struct StepEvent {
  const StepResult& result;
  const Position& position;     ///< the position after the step
  const RunningValues& values;  ///< values of this batch only; an epoch's values are accumulated from these
  std::int64_t rows = 0;
  double seconds = 0;
};

struct EpochEvent {
  std::int64_t epoch = 0;  ///< counted from 1
  std::int64_t batches = 0;
  double seconds = 0;  ///< seconds that this process spent on the epoch
  RunningValues values, validation;
};

/// Called after each event. Any of them may be empty.
struct FitEvents {
  std::function<void(std::int64_t epoch, std::int64_t batches)> begin;
  std::function<void(const StepEvent&)> step;
  /// Returns whether training continues. Called before the epoch counts as done: if it throws, the end of the epoch is
  /// still to come.
  std::function<bool(const EpochEvent&)> judge;
  std::function<void(const EpochEvent&)> epoch;  ///< called once the epoch is done
};

/// The reason for the end of a training. fit() returns the first five.
enum class FitEnd : std::uint8_t { epochs, steps, deadline, listener, not_finite, interrupted, plan };
/// Returns the reason in words: "epochs", "steps", "time limit", "early stopping", "not finite", "interrupted" or
/// "plan".
[[nodiscard]] std::string_view name_of(FitEnd end);

/// The loss of a step.
struct Point {
  std::int64_t step = 0;
  double loss = 0, learning_rate = 0;
};

/// Continues from `position`, which is kept up to date even if Stopped or an Error is thrown. Returns not_finite at a
/// step whose loss or gradients are not finite; this step changed nothing and does not count as done.
FitEnd fit(Trainer& trainer, const Data& data, const Data* validation, const FitOptions& options, Position& position,
           const FitEvents& events);

/// Returns the loss and the metrics over all rows, computed in batches.
[[nodiscard]] RunningValues evaluate(Trainer& trainer, const Data& data, std::int64_t batch_size);

}  // namespace attn::train
