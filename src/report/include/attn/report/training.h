// Training progress and results, as text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/parallel_report.h"
#include "attn/report/values.h"
#include "attn/train/fit.h"
#include "attn/train/trial.h"

namespace attn::report {

/// Returns the line of an epoch as Keras prints it with verbose=2: "3/3 - 1s - 361ms/step - loss: 3.6425 - val_loss:
/// 3.1".
[[nodiscard]] std::string epoch_line(const train::EpochEvent& event);

/// The state of Keras's progress bar with verbose=1 (keras/src/utils/progbar.py).
struct BarState {
  std::int64_t done = 0, batches = 1;
  double seconds = 0;  ///< seconds of the epoch so far
  double seconds_per_step = 0;
  bool is_over = false;  ///< show the elapsed time instead of the remaining time
  std::vector<std::pair<std::string, double>> values;
};
struct Bar {
  std::string text;
  int width = 0;  ///< width in terminal columns
};
/// Returns the bar without a newline. `ascii` restricts it to ASCII. Without color there are no escape sequences.
[[nodiscard]] Bar bar(const BarState& state, bool ascii, bool colored = true);

struct TrainingReport {
  Setting setting;
  std::string optimizer, loss;  ///< names of both
  std::uint64_t seed = 0;
  std::int64_t rows = 0, params = 0, trainable = 0;
  std::string policy;                  ///< Keras's name of the dtype policy: "float32", "mixed_bfloat16"
  std::string data;                    ///< SHA-256 of the arrays' names, sizes and checksums
  std::int64_t memory = 0;             ///< bytes of memory that the training needs
  std::int64_t epochs = 0, steps = 0;  ///< totals, including those before a resume
  train::FitEnd end = train::FitEnd::epochs;
  std::string file;        ///< the file that was written, or ""
  std::string not_finite;  ///< the first value that was not finite, if that ended the training
  /// The values of each epoch of this run, by name, as in Keras's History.history.
  std::map<std::string, std::vector<std::vector<double>>> history;
  std::vector<train::Point> points;          ///< the loss of each step of this run
  std::vector<std::int64_t> ends_of_epochs;  ///< index of the last step of each epoch of this run
  double seconds = 0;
  std::optional<ParallelReport> parallel;
  std::optional<bool> learned;      ///< for a trial on one batch: whether its loss fell to a tenth
  std::optional<train::Plan> plan;  ///< the costs of a training that is only planned
};

/// table: one line with the reason for the end, after the lines of epochs. json: "attn.train/1". svg: the losses of
/// steps and epochs and the learning rate, over steps.
[[nodiscard]] std::string render(Format format, const TrainingReport& report);

}  // namespace attn::report
