#include "training/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "attn/io/sha256.h"
#include "attn/report/number.h"
#include "attn/report/table.h"
#include "output/status_line.h"

namespace attn::cli {
namespace {

std::ofstream opened(const std::optional<std::string>& path, bool append) {
  std::ofstream out;
  if (!path) return out;
  if (*path == "-")
    out.open("/dev/stdout", std::ios::app);
  else
    out.open(*path, append ? std::ios::app : std::ios::trunc);
  if (!out) throw system_error(printable(*path), "cannot be written", errno);
  return out;
}

ShownProgress shown_of(ShownProgress asked) {
  if (asked != ShownProgress::automatic) return asked;
  return terminal_columns() ? ShownProgress::bar : ShownProgress::lines;
}

/// Returns the reason for the end of a training as one word.
std::string_view word_of(train::FitEnd end) {
  switch (end) {
    case train::FitEnd::listener:
      return "early_stop";
    case train::FitEnd::interrupted:
      return "signal";
    case train::FitEnd::deadline:
      return "time_limit";
    case train::FitEnd::not_finite:
      return "nan";
    default:
      return name_of(end);
  }
}

/// Formats a number as Python's csv does.
std::string csv_number(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

/// Formats a value as CSVLogger does; a list becomes a text with its own quotation marks.
std::string csv_value(const std::vector<double>& numbers) {
  if (numbers.size() == 1) return csv_number(numbers.front());
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(csv_number(number));
  return fmt::format(R"("""[{}]""")", join(texts, ", "));
}

}  // namespace

TrainingLog::TrainingLog(const LogTargets& targets, std::int64_t epochs, const Console& console)
    : targets_(targets), epochs_(epochs), console_(console) {
  if (targets.csv && targets.append) {
    std::ifstream before(*targets.csv);
    std::string line;
    has_header_ = static_cast<bool>(std::getline(before, line)) && !line.empty();
  }
  events_ = opened(targets.events, targets.append);
  csv_ = opened(targets.csv, targets.append);
  targets_.progress = shown_of(targets.progress);
}

/// Warns that a log ends here, and that its last line may be incomplete.
void TrainingLog::give_up(const std::string& why) {
  console_.warn(why + "; the training continues without it");
  failure_ += (failure_.empty() ? "" : "; ") + why;
}

void TrainingLog::check(std::ofstream& file, const std::optional<std::string>& path) {
  if (file) return;
  give_up(system_error(printable(*path), "cannot be written", errno).what());
  file.close();
}

void TrainingLog::add_scalar(std::optional<io::EventFile>& file, const std::string& tag, std::int64_t step,
                             double value) {
  if (!file) return;
  try {
    file->add(tag, step, value);
  } catch (const Error& error) {
    give_up(error.what());
    file.reset();
  }
}

void TrainingLog::open_validation() {
  if (validation_events_) return;
  try {
    validation_events_.emplace(*targets_.tensorboard + "/validation");
  } catch (const Error& error) {
    give_up(error.what());
    training_events_.reset();
  }
}

std::string TrainingLog::close() {
  for (auto* file : {&events_, &csv_}) {
    if (!file->is_open()) continue;
    errno = 0;
    file->close();
    check(*file, file == &events_ ? targets_.events : targets_.csv);
  }
  return failure_;
}

void TrainingLog::write(const report::Json& event) {
  if (!events_.is_open()) return;
  errno = 0;
  events_ << report::json_line(event) << std::flush;
  check(events_, targets_.events);
}

void TrainingLog::print_line(const std::string& line) const {
  if (targets_.progress == ShownProgress::none) return;
  write_now(line + "\n", Formatting::fitting);
}

void TrainingLog::start(const report::TrainingReport& report) {
  if (targets_.tensorboard) training_events_.emplace(*targets_.tensorboard + "/train");
  write({{"event", "start"},
         {"model", report.setting.model},
         {"params", report.params},
         {"trainable", report.trainable},
         {"optimizer", report.optimizer},
         {"loss", report.loss},
         {"policy", report.policy},
         {"device", report.setting.device},
         {"threads", report.setting.threads},
         {"seed", report.seed},
         {"data", {{"rows", report.rows}, {"sha256", report.data}}},
         {"memory", report.memory}});
  print_line(fmt::format("{}: {} of {} parameters, {}, {}, {}, seed {}", printable(report.setting.model),
                         with_commas(report.trainable), with_commas(report.params), printable(report.optimizer),
                         printable(report.loss), report::counted(report.rows, "row"), report.seed));
}

void TrainingLog::begin_epoch(std::int64_t epoch, std::int64_t batches) {
  batches_ = batches;
  seconds_ = seconds_behind_first_ = 0.0;
  steps_behind_first_ = 0;
  drawn_at_ = -1.0;
  width_ = 0;
  print_line(fmt::format("Epoch {}/{}", epoch, epochs_));
}

void TrainingLog::draw(const report::BarState& state) {
  const report::Bar bar = report::bar(state, Console::ascii, colors_results());
  std::string out(static_cast<std::size_t>(width_), '\b');
  out += "\r" + bar.text;
  out.append(static_cast<std::size_t>(std::max(0, width_ - bar.width)), ' ');
  width_ = bar.width;
  if (state.is_over) out += "\n";
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
  StatusLine::leave_open(!state.is_over);
}

void TrainingLog::step(const train::StepEvent& event) {
  const train::StepResult& result = event.result;
  report::Json metrics = report::Json::object();
  for (const auto& [name, value] : event.values)
    if (name != "loss") metrics[name] = report::json_numbers(value.values());
  write({{"event", "step"},
         {"step", event.position.step},
         {"epoch", event.position.epoch + 1},
         {"batch", event.position.batch},
         {"loss", result.loss},
         {"metrics", metrics},
         {"learning_rate", result.learning_rate},
         {"grad_norm", result.gradient_norm},
         {"clipped", result.clipped},
         {"loss_scale", result.loss_scale},
         {"skipped", result.skipped},
         {"rows", event.rows},
         {"seconds", event.seconds}});
  if (!result.not_finite.empty()) return;
  add_scalar(training_events_, "batch_loss", event.position.step, result.loss);
  add_scalar(training_events_, "batch_learning_rate", event.position.step, result.learning_rate);
  add_scalar(training_events_, "batch_gradient_norm", event.position.step, result.gradient_norm);
  seconds_ += event.seconds;
  if (std::exchange(steps_behind_first_, steps_behind_first_ + 1) > 0) seconds_behind_first_ += event.seconds;
  constexpr double kRedraw = 0.05;
  if (targets_.progress != ShownProgress::bar || (drawn_at_ >= 0.0 && seconds_ - drawn_at_ < kRedraw)) return;
  drawn_at_ = seconds_;
  report::BarState state;
  state.done = event.position.batch;
  state.batches = batches_;
  state.seconds = seconds_;
  state.seconds_per_step =
      steps_behind_first_ > 1 ? seconds_behind_first_ / static_cast<double>(steps_behind_first_ - 1) : seconds_;
  state.values = train::values_of(train::logs_of(event.position.running, {}));
  draw(state);
}

void TrainingLog::epoch(const train::EpochEvent& event, const train::Logs& logs) {
  const std::vector<std::pair<std::string, double>> values = train::values_of(logs);
  report::Json line{{"event", "epoch"}, {"epoch", event.epoch}};
  for (const auto& [name, value] : logs) line[name] = report::json_numbers(value);
  write(line);
  write_row(event.epoch - 1, logs);
  if (training_events_) {
    for (const auto& [name, value] : values) {
      const bool validates = name.starts_with("val_");
      if (validates) open_validation();
      add_scalar(validates ? validation_events_ : training_events_, "epoch_" + name.substr(validates ? 4 : 0),
                 event.epoch - 1, value);
    }
  }
  if (targets_.progress == ShownProgress::bar) {
    report::BarState state;
    state.done = state.batches = event.batches;
    state.seconds = event.seconds;
    state.seconds_per_step = event.seconds / static_cast<double>(std::max<std::int64_t>(1, event.batches));
    state.is_over = true;
    state.values = values;
    draw(state);
  } else if (targets_.progress == ShownProgress::lines) {
    write_now(report::epoch_line(event), Formatting::fitting);
  }
}

/// Writes a row as keras/src/callbacks/csv_logger.py does. Without validation, the "val_" columns have the value NA.
void TrainingLog::write_row(std::int64_t epoch, train::Logs logs) {
  if (!csv_.is_open()) return;
  std::ranges::sort(logs);
  if (columns_.empty()) {
    for (const auto& [name, value] : logs) columns_.push_back(name);
    const bool validates =
        std::ranges::any_of(columns_, [](const std::string& name) { return name.starts_with("val_"); });
    for (std::size_t i = 0, own = columns_.size(); !validates && i < own; ++i) columns_.push_back("val_" + columns_[i]);
    report::Table header{{{"epoch"}}, {}};
    for (const std::string& column : columns_) header.columns.push_back({column});
    if (!has_header_) csv_ << report::csv_table(header);
  }
  errno = 0;
  csv_ << epoch;
  for (const std::string& column : columns_) {
    const auto found = std::ranges::find(logs, column, &train::Logs::value_type::first);
    csv_ << ',' << (found == logs.end() ? "NA" : csv_value(found->second));
  }
  csv_ << "\r\n" << std::flush;
  check(csv_, targets_.csv);
}

void TrainingLog::checkpoint(const std::string& file, std::int64_t step) {
  if (!events_.is_open()) return;
  write({{"event", "checkpoint"}, {"file", file}, {"step", step}, {"sha256", io::sha256_of_file(file)}});
}

void TrainingLog::end(train::FitEnd reason, std::int64_t step) {
  write({{"event", "end"}, {"reason", word_of(reason)}, {"step", step}});
}

}  // namespace attn::cli
