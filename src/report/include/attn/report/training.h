// A training as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"
#include "attn/train/fit.h"

namespace attn::report {

/// The line of an epoch as Keras prints it with verbose=2: "3/3 - 1s - 361ms/step - loss: 3.6425 - val_loss: 3.1".
[[nodiscard]] std::string epoch_line(const train::EpochEvent& event);

struct TrainingReport {
  Setting setting;
  std::string optimizer, loss;  ///< what they are called
  std::uint64_t seed = 0;
  std::int64_t rows = 0, params = 0, trainable = 0;
  std::int64_t epochs = 0, steps = 0;  ///< done, with those before a resume
  std::string end;                     ///< "epochs", "steps", "not finite", "signal"
  std::string file;                    ///< that was written, or ""
  /// By epoch of this run: Keras's History.history.
  std::map<std::string, std::vector<double>> history;
  double seconds = 0;
};

/// table: one line on how it ended, behind the lines of epochs. json: "attn.train/1".
[[nodiscard]] std::string render(Format format, const TrainingReport& report);

}  // namespace attn::report
