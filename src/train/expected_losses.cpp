#include "attn/train/expected_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/base/whole_number.h"
#include "attn/io/file.h"

namespace attn::train {
namespace {

/// Returns the cells of a line of RFC 4180.
std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

/// Reads a line of a log. Events other than steps and epochs have no loss; JSON has null for NaN and infinities.
void take_event(const nlohmann::json& event, ExpectedLosses& out) {
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto found = event.find(name);
    if (found == event.end() || !(found->is_number() || found->is_null())) return std::nullopt;
    return found->is_null() ? std::nan("") : found->get<double>();
  };
  const auto loss = number("loss");
  const auto kind = event.find("event");
  if (!loss || kind == event.end()) return;
  const auto count = [&](const char* name) { return whole_number(number(name).value_or(std::nan(""))); };
  if (const auto step = count("step"); step && *kind == "step") out.steps[*step] = *loss;
  if (const auto epoch = count("epoch"); epoch && *kind == "epoch") out.epochs[*epoch] = *loss;
}

/// Reads a file of CSVLogger, whose epochs count from 0.
void take_rows(const std::vector<std::string>& lines, const std::string& path, ExpectedLosses& out) {
  const std::vector<std::string> columns = csv_cells(lines.front());
  const auto epoch = std::ranges::find(columns, "epoch") - columns.begin(),
             loss = std::ranges::find(columns, "loss") - columns.begin();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = csv_cells(lines[i]);
    if (std::max(epoch, loss) >= std::ssize(columns)) continue;  // no column of losses
    const auto cell = [&](std::ptrdiff_t at) {
      return at < std::ssize(cells) ? cells[static_cast<std::size_t>(at)] : std::string();
    };
    const auto number = whole_number(parse_number<double>(cell(epoch)).value_or(std::nan("")));
    const auto value = parse_number<double>(cell(loss));
    if (!number || !value)
      throw bad_input("{}: row {}: expected an epoch and a loss, got '{}' and '{}'", printable(path), i,
                      shortened(printable(cell(epoch))), shortened(printable(cell(loss))));
    out.epochs[*number + 1] = *value;
  }
}

/// Returns whether two losses agree. The tolerance applies to finite losses only: infinity times rtol would allow any
/// difference.
bool agree(double loss, double expected, double rtol, double atol) {
  if (std::isnan(expected)) return std::isnan(loss);
  if (std::isinf(expected)) return loss == expected;
  return std::abs(loss - expected) <= atol + rtol * std::abs(expected);
}

/// The differing losses, by step or epoch.
struct LossDifferences {
  std::string first;
  std::int64_t count = 0, compared = 0;

  void compare(const char* what, const std::map<std::int64_t, double>& expected, std::int64_t number, double loss,
               double rtol, double atol) {
    const auto found = expected.find(number);
    if (found == expected.end()) return;
    ++compared;
    if (agree(loss, found->second, rtol, atol)) return;
    if (count++ == 0)
      first = fmt::format("{} {} has a loss of {:.9g}, but {:.9g} was expected", what, number, loss, found->second);
  }
};

}  // namespace

ExpectedLosses read_expected_losses(const std::string& path) {
  const io::Bytes file = io::read_file(path);
  std::vector<std::string> lines;
  for (std::string& line : split(file.text(), '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  ExpectedLosses out;
  if (!lines.empty() && lines.front().starts_with("epoch,")) {
    take_rows(lines, path, out);
  } else {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto event = nlohmann::json::parse(lines[i], nullptr, false);
      if (!event.is_object()) throw bad_input("{}: line {} is not a JSON object", printable(path), i + 1);
      take_event(event, out);
    }
  }
  if (out.steps.empty() && out.epochs.empty())
    throw bad_input("{}: no losses found; expected a file of `attn train --log` or Keras's CSVLogger", printable(path));
  return out;
}

std::optional<std::string> differing_losses(const ExpectedLosses& expected, const ActualLosses& had, double rtol,
                                            double atol, const std::string& path) {
  LossDifferences all;
  for (const Point& point : had.points) all.compare("step", expected.steps, point.step, point.loss, rtol, atol);
  std::int64_t epoch = had.last_epoch - std::ssize(had.epochs);
  for (const double loss : had.epochs) all.compare("epoch", expected.epochs, ++epoch, loss, rtol, atol);
  if (all.compared == 0) throw bad_input("{}: no loss is of a step or epoch of this training", printable(path));
  if (all.count == 0) return std::nullopt;
  return fmt::format("{}: {} of {} losses differ; {}", printable(path), all.count, all.compared, all.first);
}

}  // namespace attn::train
