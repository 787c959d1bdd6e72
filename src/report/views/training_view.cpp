// A complete training, as text and as a plot.
#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/parallel_view.h"
#include "attn/report/setting.h"
#include "attn/report/training.h"
#include "pictures/training_svg.h"

namespace attn::report {
namespace {

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
  json["end"] = train::name_of(report.end);
  json["file"] = report.file.empty() ? Json() : json_text(report.file);
  json["history"] = Json::object();
  for (const auto& [name, values] : report.history) {
    json["history"][name] = Json::array();
    for (const std::vector<double>& value : values) json["history"][name].push_back(json_numbers(value));
  }
  json["ms"] = report.seconds * 1000.0;
  if (report.learned) json["learned"] = *report.learned;
  if (report.plan)
    json["plan"] = {{"bytes", report.plan->bytes},
                    {"steps_per_epoch", report.plan->steps_per_epoch},
                    {"steps", report.plan->steps},
                    {"ms_per_step", report.plan->seconds_per_step * 1000.0}};
  if (report.parallel) json["parallel"] = parallel_json(*report.parallel);
  return json_document(json);
}

std::string training_plan_text(const TrainingReport& report) {
  const train::Plan& plan = *report.plan;
  return fmt::format("{}: {} of {} parameters, {}, {}, {}\n", printable(report.setting.model),
                     with_commas(report.trainable), with_commas(report.params), printable(report.optimizer),
                     printable(report.loss), counted(report.rows, "row")) +
         fmt::format("{} of memory; {}, {} in an epoch, {} each: {} without validation\n", byte_size(plan.bytes),
                     counted(plan.steps, "step"), with_commas(plan.steps_per_epoch), duration(plan.seconds_per_step),
                     duration(plan.seconds_per_step * static_cast<double>(plan.steps)));
}

/// Returns whether the training ended because it had done all epochs or steps.
bool ends_well(train::FitEnd end) { return end == train::FitEnd::epochs || end == train::FitEnd::steps; }

std::string try_text(const TrainingReport& report) {
  if (report.points.empty()) return "no step was tried\n";
  return fmt::format("the loss of the first batch: {:.4g}, after {} {:.4g}; {}\n", report.points.front().loss,
                     counted(std::ssize(report.points), "step"), report.points.back().loss, duration(report.seconds));
}

}  // namespace

std::string render(Format format, const TrainingReport& report) {
  switch (format) {
    case Format::table:
      if (report.plan) return training_plan_text(report);
      if (report.learned) return try_text(report);
      return fmt::format("{}, {}, {}{}{}\n", counted(report.steps, "step"), counted(report.epochs, "epoch"),
                         ends_well(report.end) ? "" : std::string(train::name_of(report.end)) + ", ",
                         duration(report.seconds),
                         report.file.empty() ? "" : fmt::format(": {}", printable(report.file))) +
             (report.parallel ? parallel_text(*report.parallel) : "");
    case Format::json:
      return training_json(report);
    case Format::svg:
      return training_svg(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
