#include "attn/report/setting.h"

#include <fmt/format.h>

#include "attn/base/text.h"

namespace attn::report {

std::string setting_text(const Setting& setting) {
  std::string text =
      fmt::format("{} ({}), {}", printable(setting.device), printable(setting.backend), printable(setting.dtype));
  if (setting.matmul_precision != "highest") {
    text += fmt::format(" with products of {} precision", printable(setting.matmul_precision));
  }
  text += fmt::format(", batch {}", setting.batch);
  if (setting.seq_len) text += fmt::format(", length {}", *setting.seq_len);
  if (!setting.test.empty()) text += ", " + printable(setting.test);
  if (const std::string padding = padding_text(setting); !padding.empty()) text += ", " + padding;
  return text + fmt::format(", {} {}", setting.threads, setting.threads == 1 ? "thread" : "threads");
}

std::string padding_text(const Setting& setting) {
  std::string skipped = setting.skip_padding ? "padding skipped" : "";
  if (!setting.mean_length) return skipped;
  return fmt::format("mean length {}{}{}", *setting.mean_length, setting.skip_padding ? ", " : "", skipped);
}

std::string weights_line(const Setting& setting) {
  return setting.weights.empty() ? "" : fmt::format("  weights: {}\n", printable(setting.weights));
}

Json setting_json(const Setting& setting) {
  Json json;
  json["model"] = json_text(setting.model);
  if (!setting.test.empty()) json["test"] = json_text(setting.test);
  json["device"] = json_text(setting.device);
  json["backend"] = json_text(setting.backend);
  json["dtype"] = json_text(setting.dtype);
  json["matmul_precision"] = json_text(setting.matmul_precision);
  json["batch"] = setting.batch;
  json["seq_len"] = setting.seq_len ? Json(*setting.seq_len) : Json(nullptr);
  json["threads"] = setting.threads;
  if (setting.mean_length) json["mean_length"] = *setting.mean_length;
  if (setting.skip_padding) json["skip_padding"] = true;
  if (!setting.weights.empty()) json["weights"] = json_text(setting.weights);
  return json;
}

Json input_json(const InputReport& input) {
  return {{"name", json_text(input.name)},
          {"shape", json_shape(input.shape)},
          {"dtype", json_text(input.dtype)},
          {"source", json_text(input.source)}};
}

}  // namespace attn::report
