// The output of a training while it runs.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "attn/io/event_file.h"
#include "attn/report/json.h"
#include "attn/report/training.h"
#include "output/console.h"

namespace attn::cli {

enum class ShownProgress : std::uint8_t { automatic, bar, lines, none };

struct LogTargets {
  /// JSON lines, the CSV of Keras's CSVLogger, a TensorBoard folder.
  std::optional<std::string> events, csv, tensorboard;
  ShownProgress progress = ShownProgress::automatic;
  bool append = false;  ///< continues the files of a resumed training
};

/// Writes lines or a bar to stdout, and the log files. If a log can no longer be written, the log warns and the
/// training continues without it.
class TrainingLog {
 public:
  /// Throws Error (bad_input) for a file that cannot be created.
  TrainingLog(const LogTargets& targets, std::int64_t epochs, const Console& console);

  void start(const report::TrainingReport& report);
  void begin_epoch(std::int64_t epoch, std::int64_t batches);
  void step(const train::StepEvent& event);
  void epoch(const train::EpochEvent& event, const train::Logs& logs);
  void checkpoint(const std::string& file, std::int64_t step);
  void end(train::FitEnd reason, std::int64_t step);
  /// Closes the files. Returns the failure if one could not be written completely, otherwise "".
  [[nodiscard]] std::string close();
  /// Prints a line of text.
  void print_line(const std::string& line) const;

 private:
  void write(const report::Json& event);
  void write_row(std::int64_t epoch, train::Logs logs);
  void add_scalar(std::optional<io::EventFile>& file, const std::string& tag, std::int64_t step, double value);
  void give_up(const std::string& why);
  void open_validation();
  void draw(const report::BarState& state);
  void check(std::ofstream& file, const std::optional<std::string>& path);

  LogTargets targets_;
  std::int64_t epochs_;
  const Console& console_;
  std::ofstream events_, csv_;
  bool has_header_ = false;
  std::vector<std::string> columns_;
  std::optional<io::EventFile> training_events_, validation_events_;
  std::string failure_;

  // The state of the bar in the current epoch.
  std::int64_t batches_ = 0;
  double seconds_ = 0, seconds_behind_first_ = 0, drawn_at_ = -1;
  std::int64_t steps_behind_first_ = 0;
  int width_ = 0;
};

}  // namespace attn::cli
