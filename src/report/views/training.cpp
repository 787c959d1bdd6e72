#include "attn/report/training.h"

#include <fmt/format.h>

#include <cmath>

#include "attn/base/text.h"

namespace attn::report {
namespace {

/// Formats a value as keras/src/utils/progbar.py does.
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

}  // namespace

std::string epoch_line(const train::EpochEvent& event) {
  std::string out =
      fmt::format("{0}/{0} - {1} - {2}", event.batches, whole_time(event.seconds),
                  step_time(event.seconds / static_cast<double>(std::max<std::int64_t>(1, event.batches))));
  for (const auto& [name, value] : train::values_of(train::logs_of(event.values, event.validation)))
    out += value_text(printable(name), value);
  return out + "\n";
}

Bar bar(const BarState& state, bool ascii, bool colored) {
  constexpr int kBarCells = 20;
  // With color the two parts differ by color, as in Keras; without it, the remaining part has a lighter line.
  const std::string_view cell = ascii ? "=" : "\u2501", rest = ascii ? "-" : colored ? "\u2501" : "\u2500";
  const auto in = [&](std::string_view code, const std::string& text) {
    return colored ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  };
  const auto digits = fmt::format("{}", state.batches).size();
  const auto filled = static_cast<int>(kBarCells * state.done / std::max<std::int64_t>(1, state.batches));
  const auto repeated = [](std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string count = fmt::format("{:>{}}/{}", state.done, digits, state.batches);
  const double left = state.seconds_per_step * static_cast<double>(state.batches - state.done);
  const std::string time = state.is_over ? fmt::format("{:.0f}s", state.seconds) : whole_time(left);
  std::string info = " " + step_time(state.seconds_per_step);
  for (const auto& [name, value] : state.values) info += value_text(printable(name), value);
  Bar out;
  out.text = in("1", count) + " ";
  if (filled > 0) out.text += in("32", repeated(cell, filled));
  out.text += fmt::format("{} {}{}", in("37", repeated(rest, kBarCells - filled)), in("1", time), info);
  out.width = static_cast<int>(count.size() + 1 + kBarCells + 1 + time.size()) + display_width(info);
  return out;
}

}  // namespace attn::report
