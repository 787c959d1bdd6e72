#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "attn/base/text.h"
#include "attn/report/terminal.h"
#include "fold.h"

namespace attn::report {
namespace {

constexpr std::string_view kBar = "│", kHeadingBar = "┃";

/// Returns whether the line is the rule below the heading of a table, of attn's or of Keras's.
bool is_rule(std::string_view line) { return line.starts_with("┡") || is_table_rule(line); }

std::string bold(std::string_view text) { return fmt::format("\x1b[1m{}\x1b[0m", text); }
std::string colored(int color, std::string_view text) { return fmt::format("\x1b[38;5;{}m{}\x1b[0m", color, text); }

constexpr int kNone = 45, kNumber = 34, kSymbol = 33, kRed = 9;

/// Colors numbers, and None; `in_brackets`: only those inside [ ].
std::string with_numbers(std::string_view text, bool in_brackets) {
  std::string out;
  bool open = false;
  for (std::size_t i = 0; i < text.size();) {
    open = text[i] == '[' || (open && text[i] != ']');
    std::size_t end = i;
    while (end < text.size() &&
           (is_digit(text[end]) || (end > i && text[end] == ',' && end + 1 < text.size() && is_digit(text[end + 1]))))
      ++end;
    if (!in_brackets && text.substr(i).starts_with("None")) {
      out += colored(kNone, "None");
      i += 4;
    } else if (end > i && (open || !in_brackets)) {
      out += colored(kNumber, text.substr(i, end - i));
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

/// A row of Keras's table, line by line.
class KerasRows {
 public:
  void heading(std::string_view line) {
    headings_.clear();
    for (const std::string_view cell : cells(line, kHeadingBar)) headings_.emplace_back(trimmed(cell));
  }
  /// Ends a row at a rule.
  void end_row() { in_class_ = false; }

  std::string colored_line(std::string_view line) {
    std::string out(kBar);
    const std::vector<std::string_view> parts = cells(line, kBar);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      out += i < headings_.size() ? cell(headings_[i], parts[i]) : std::string(parts[i]);
      out += kBar;
    }
    return out;
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
    return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
  }
  static std::vector<std::string_view> cells(std::string_view line, std::string_view bar) {
    std::vector<std::string_view> out;
    for (std::size_t at = bar.size(); at < line.size();) {
      const std::size_t end = std::min(line.find(bar, at), line.size());
      out.push_back(line.substr(at, end - at));
      at = end + bar.size();
    }
    return out;
  }
  std::string cell(const std::string& heading, std::string_view text) {
    if (heading.starts_with("Layer")) return with_class(text);
    if (heading.starts_with("Connected")) return with_numbers(text, true);
    if (!heading.starts_with("Trainable")) return with_numbers(text, false);
    const std::string_view word = trimmed(text);
    if (word.empty()) return std::string(text);
    const std::size_t at = text.find(word);
    const std::string mark = word == "Y"   ? colored(kNumber, word)
                             : word == "N" ? colored(kRed, word)
                                           : std::string(word);
    return fmt::format("{}\x1b[1m{}\x1b[0m{}", text.substr(0, at), mark, text.substr(at + word.size()));
  }
  /// Colors "name (Class)", which may continue in the next line.
  std::string with_class(std::string_view text) {
    std::string out;
    std::string_view rest = text;
    if (!in_class_) {
      const std::size_t open = text.rfind('(');
      if (open == std::string_view::npos) return std::string(text);
      out += text.substr(0, open + 1);
      rest = text.substr(open + 1);
    }
    const std::size_t close = rest.find(')');
    in_class_ = close == std::string_view::npos;
    const std::string_view all = in_class_ ? rest : rest.substr(0, close);
    const std::size_t begin = std::min(all.find_first_not_of(' '), all.size());
    const std::string_view word = trimmed(all);
    out += all.substr(0, begin);
    if (!word.empty()) out += colored(kSymbol, word);
    out += rest.substr(begin + word.size());
    return out;
  }

  std::vector<std::string> headings_;
  bool in_class_ = false;
};

constexpr std::array<std::string_view, 4> kTotals = {
    " Total params: ", " Trainable params: ", " Non-trainable params: ", " Optimizer params: "};

/// Colors a line outside Keras's table: its title, and the totals.
std::string outside_table(const std::string& line) {
  if (line.starts_with("Model: \"") || line.starts_with("Preprocessor: \"")) return bold(line);
  for (const std::string_view total : kTotals)
    if (line.starts_with(total)) {
      const std::size_t end = std::min(line.find(' ', total.size()), line.size());
      return bold(total) + colored(kNumber, line.substr(total.size(), end - total.size())) + line.substr(end);
    }
  return line;
}

void color_keras_table(std::vector<std::string>& lines) {
  KerasRows rows;
  for (std::string& line : lines) {
    if (line.starts_with(kHeadingBar)) {
      rows.heading(line);
    } else if (line.starts_with(kBar)) {
      line = rows.colored_line(line);
    } else if (line.starts_with("├") || line.starts_with("└") || line.starts_with("┡")) {
      rows.end_row();
    } else {
      line = outside_table(line);
    }
  }
}

}  // namespace

std::string colored_result(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> plain = lines;
  const auto is_keras = [](const std::string& line) { return line.starts_with("┡"); };
  if (std::any_of(plain.begin(), plain.end(), is_keras)) color_keras_table(lines);
  // A heading is the lines above a rule, from the last empty line on; in Keras's table those inside its frame.
  std::size_t begin = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].empty() || is_rule(plain[i])) begin = i + 1;
    if (i + 1 == plain.size() || !is_rule(plain[i + 1]) || plain[i].empty()) continue;
    const bool framed = is_keras(plain[i + 1]);
    for (std::size_t j = begin; j <= i; ++j)
      if (!framed || plain[j].starts_with(kHeadingBar)) lines[j] = bold(plain[j]);
  }
  return join(lines, "\n");
}

}  // namespace attn::report
