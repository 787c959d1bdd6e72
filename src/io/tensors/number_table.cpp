#include "attn/io/number_table.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

/// Returns the text up to the separator and removes both.
std::string_view take(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  bool goes_on = true;
  while (goes_on) {
    goes_on = line.find(',') != std::string_view::npos;
    cells.push_back(trimmed(take(line, ',')));
  }
  return cells;
}

/// NaN and infinities parse as numbers, though no one trains on them: they are not names.
std::optional<double> number_of(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double number = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (cell.empty() || end != cell.data() + cell.size()) return {};
  return error == std::errc() ? number : std::nan("");
}

std::string_view unquoted(std::string_view name) {
  const bool is_quoted = name.size() >= 2 && name.front() == '"' && name.back() == '"';
  return is_quoted ? name.substr(1, name.size() - 2) : name;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : left_(text), file_(file) {}

  NumberTable run() && {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (left_.starts_with(kByteOrderMark)) left_.remove_prefix(kByteOrderMark.size());
    while (!left_.empty()) {
      ++line_;
      const std::string_view line = trimmed(take(left_, '\n'));
      if (line.empty() && trimmed_is_empty(left_)) break;
      const std::vector<std::string_view> cells = cells_of(line);
      if (line_ == 1) {
        out_.width = std::ssize(cells);
        if (take_names(cells)) continue;
      }
      take_row(cells);
    }
    if (out_.rows == 0) throw bad_input("{}: no line is a row of numbers", printable(file_));
    return std::move(out_);
  }

 private:
  /// Returns whether the rest of the text is empty lines.
  static bool trimmed_is_empty(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  bool take_names(const std::vector<std::string_view>& cells) {
    bool has_names = false;
    for (const std::string_view cell : cells) has_names = has_names || (!cell.empty() && !number_of(cell));
    if (!has_names) return false;
    std::set<std::string_view> seen;
    for (const std::string_view cell : cells) {
      const std::string_view name = unquoted(cell);
      if (!seen.insert(name).second)
        throw bad_input("{}: two columns have the name '{}'", printable(file_), shortened(printable(name)));
      out_.columns.emplace_back(name);
    }
    return true;
  }

  void take_row(const std::vector<std::string_view>& cells) {
    if (std::ssize(cells) != out_.width)
      throw bad_input("{}: line {} has {} cells, and the first one {}", printable(file_), line_, cells.size(),
                      out_.width);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::optional<double> number = number_of(cells[i]);
      if (!number || !std::isfinite(*number))
        throw bad_input("{}: line {}, column {}: '{}' is not a finite number", printable(file_), line_, column(i),
                        shortened(printable(cells[i])));
      out_.numbers.push_back(*number);
    }
    ++out_.rows;
  }

  /// Returns the column's name, or its number from 1 on.
  [[nodiscard]] std::string column(std::size_t i) const {
    return out_.columns.empty() ? std::to_string(i + 1) : "'" + shortened(printable(out_.columns[i])) + "'";
  }

  std::string_view left_, file_;
  std::int64_t line_ = 0;
  NumberTable out_;
};

}  // namespace

NumberTable read_number_table(std::string_view text, std::string_view file) { return Reader(text, file).run(); }

}  // namespace attn::io
