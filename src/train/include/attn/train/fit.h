// Epochs over data.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/train/data.h"
#include "attn/train/trainer.h"

namespace attn::train {

struct FitOptions {
  std::int64_t epochs = 1;  ///< in all, those before a resume too
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> steps;  ///< in all: ends after so many
  /// Ends after the first step behind it.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  bool shuffle = true;
  std::int64_t shuffled_block = 0;  ///< above 0: rows stay in blocks of so many, which are shuffled, and so are those
                                    ///< of each block
  bool drop_remainder = false;
  /// Steps of an epoch: the next goes on in the data where it ended. One that comes to the end of the data ends there.
  std::optional<std::int64_t> steps_per_epoch;
  std::uint64_t seed = 0;

  /// Batches in all of the data.
  [[nodiscard]] std::int64_t batches_of(std::int64_t rows) const;
  /// Steps until the end of the last epoch, or until `steps`.
  [[nodiscard]] std::int64_t steps_in_all(std::int64_t rows) const;
};

/// The part of the data that an epoch takes.
struct Stretch {
  std::int64_t pass = 0;                ///< times that the data was gone through before
  std::int64_t first = 0, batches = 0;  ///< batches of that pass
};
/// `epoch` counts from 0. As keras/src/trainers/epoch_iterator.py has it for arrays.
[[nodiscard]] Stretch stretch_of(std::int64_t epoch, std::int64_t rows, const FitOptions& options);

/// What a metric is made of, summed over batches.
struct Running {
  std::vector<double> total, count;
  keras::MetricKind kind = keras::MetricKind::ratio;
  [[nodiscard]] double value() const;
};
using RunningValues = std::map<std::string, Running>;  ///< "loss", "accuracy", …, sorted as Keras prints them

/// Where a training stands, between two steps: all that a resume needs beside weights, optimizer and draws.
struct Position {
  std::int64_t epoch = 0;  ///< that are done
  std::int64_t batch = 0;  ///< that are done of the epoch under way
  std::int64_t step = 0;   ///< in all
  RunningValues running;   ///< of the epoch under way
};

struct StepEvent {
  const StepResult& result;
  const Position& position;     ///< after the step
  const RunningValues& values;  ///< of its batch alone: what an epoch's are made of
  std::int64_t rows = 0;
  double seconds = 0;
};

struct EpochEvent {
  std::int64_t epoch = 0;  ///< from 1
  std::int64_t batches = 0;
  double seconds = 0;  ///< of this run's part of it
  RunningValues values, validation;
};

/// Called after each; nobody may be listening.
struct FitEvents {
  std::function<void(std::int64_t epoch, std::int64_t batches)> begin;
  std::function<void(const StepEvent&)> step;
  /// True: goes on. Before the epoch counts as done: where this throws, its end is still to come.
  std::function<bool(const EpochEvent&)> judge;
  std::function<void(const EpochEvent&)> epoch;  ///< when it does
};

enum class FitEnd : std::uint8_t { epochs, steps, deadline, listener, not_finite };

/// Goes on from `position`, which always tells what is done, also where Stopped or an Error comes out. Ends with
/// not_finite at a step that came out as no number and moved nothing; it is not among those done.
FitEnd fit(Trainer& trainer, const Data& data, const Data* validation, const FitOptions& options, Position& position,
           const FitEvents& events);

/// The loss and the metrics over all rows, in batches.
[[nodiscard]] RunningValues evaluate(Trainer& trainer, const Data& data, std::int64_t batch_size);

}  // namespace attn::train
