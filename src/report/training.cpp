#include "attn/report/training.h"

#include <fmt/format.h>

#include <cmath>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"

namespace attn::report {
namespace {

/// keras/src/utils/progbar.py
std::string value_text(const std::string& name, double value) {
  return std::abs(value) > 1e-3 ? fmt::format(" - {}: {:.4f}", name, value) : fmt::format(" - {}: {:.4e}", name, value);
}

std::string step_time(double seconds) {
  if (seconds >= 1.0 || seconds == 0.0) return fmt::format("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/step", seconds * 1e3);
  return fmt::format("{:.0f}us/step", seconds * 1e6);
}

std::string whole_time(double seconds) {
  if (seconds > 3600.0)
    return fmt::format("{:d}:{:02d}:{:02d}", static_cast<int>(seconds) / 3600, static_cast<int>(seconds) % 3600 / 60,
                       static_cast<int>(seconds) % 60);
  if (seconds > 60.0) return fmt::format("{:d}:{:02d}", static_cast<int>(seconds) / 60, static_cast<int>(seconds) % 60);
  return fmt::format("{:.0f}s", std::floor(seconds));
}

std::string training_json(const TrainingReport& report) {
  Json json;
  json["schema"] = "attn.train/1";
  json.update(setting_json(report.setting));
  json["optimizer"] = json_text(report.optimizer);
  json["loss"] = json_text(report.loss);
  json["seed"] = report.seed;
  json["rows"] = report.rows;
  json["params"] = report.params;
  json["trainable_params"] = report.trainable;
  json["epochs"] = report.epochs;
  json["steps"] = report.steps;
  json["end"] = json_text(report.end);
  json["file"] = report.file.empty() ? Json() : json_text(report.file);
  json["history"] = Json::object();
  for (const auto& [name, values] : report.history) json["history"][name] = values;
  json["ms"] = report.seconds * 1000.0;
  return json_document(json);
}

}  // namespace

std::string epoch_line(const train::EpochEvent& event) {
  std::string out =
      fmt::format("{0}/{0} - {1} - {2}", event.batches, whole_time(event.seconds),
                  step_time(event.seconds / static_cast<double>(std::max<std::int64_t>(1, event.batches))));
  for (const auto& [name, value] : event.values) out += value_text(printable(name), value.value());
  for (const auto& [name, value] : event.validation) out += value_text("val_" + printable(name), value.value());
  return out + "\n";
}

std::string render(Format format, const TrainingReport& report) {
  switch (format) {
    case Format::table:
      return fmt::format("{} steps, {} epochs, {}{}\n", report.steps, report.epochs, duration(report.seconds),
                         report.file.empty() ? "" : fmt::format(": {}", printable(report.file)));
    case Format::json:
      return training_json(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
