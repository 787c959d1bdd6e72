#include "attn/report/problems_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

using keras::Problem;

std::string_view severity(const Problem& problem) { return problem.warning ? "warning" : "error"; }

/// Returns the text between two markers in a message; empty if one is missing.
std::optional<std::string> between(const std::string& text, std::string_view first, std::string_view last) {
  const auto begin = text.find(first);
  if (begin == std::string::npos) return std::nullopt;
  const auto from = begin + first.size();
  const auto end = text.find(last, from);
  return end == std::string::npos ? std::nullopt : std::optional(text.substr(from, end - from));
}

/// Returns the first suggestion of a message.
std::optional<std::string> meant(const Problem& problem) {
  std::optional<std::string> names = between(problem.message, "(did you mean '", "'?)");
  if (names) names->erase(std::min({names->size(), names->find("', '"), names->find("' or '")}));
  return names;
}

std::optional<std::string> expected(const Problem& problem) { return between(problem.message, "expected ", ", got "); }

std::string totals(const ProblemReport& report) {
  const auto count = [](std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  if (report.problems.empty()) return "no problems";
  return count(report.errors(), "error") + ", " + count(report.warnings(), "warning");
}

std::string place(const Problem& problem) {
  return problem.line == 0 ? problem.file : fmt::format("{}:{}:{}", problem.file, problem.line, problem.column);
}

Table table_of(const ProblemReport& report) {
  Table table{{{"Place"}, {"Severity"}, {"Pointer"}, {"Problem"}}, {}};
  for (const Problem& problem : report.problems)
    table.rows.push_back({place(problem), std::string(severity(problem)), problem.pointer, problem.message});
  return table;
}

Json optional_json(const std::optional<std::string>& text) { return text ? json_text(*text) : Json(); }

std::string problems_text(const ProblemReport& report) {
  std::string out;
  for (const Problem& problem : report.problems) {
    out += fmt::format("{}: {}: ", printable(place(problem)), severity(problem));
    if (!problem.pointer.empty()) out += printable(problem.pointer) + ": ";
    out += printable(problem.message) + '\n';
  }
  return out + fmt::format("{}: {}\n", printable(report.file), totals(report));
}

std::string problems_markdown(const ProblemReport& report) {
  std::string out = fmt::format("## {}: {}\n", markdown_text(report.file), totals(report));
  return report.problems.empty() ? out : out + '\n' + markdown_table(table_of(report));
}

std::string problems_csv(const ProblemReport& report) {
  Table table{{{"severity"}, {"file"}, {"line"}, {"column"}, {"pointer"}, {"message"}, {"expected"}, {"did_you_mean"}},
              {}};
  for (const Problem& problem : report.problems) {
    const bool told = problem.line > 0;
    table.rows.push_back({std::string(severity(problem)), problem.file, told ? fmt::format("{}", problem.line) : "",
                          told ? fmt::format("{}", problem.column) : "", problem.pointer, problem.message,
                          expected(problem).value_or(""), meant(problem).value_or("")});
  }
  return csv_table(table);
}

std::string problems_json(const ProblemReport& report) {
  Json json;
  json["schema"] = "attn.validate/1";
  json["file"] = json_text(report.file);
  json["valid"] = report.errors() == 0;
  json["errors"] = report.errors();
  json["warnings"] = report.warnings();
  json["problems"] = Json::array();
  for (const Problem& problem : report.problems) {
    Json row;
    row["severity"] = severity(problem);
    row["file"] = json_text(problem.file);
    row["line"] = problem.line > 0 ? Json(problem.line) : Json();
    row["column"] = problem.line > 0 ? Json(problem.column) : Json();
    row["pointer"] = json_text(problem.pointer);
    row["message"] = json_text(problem.message);
    row["expected"] = optional_json(expected(problem));
    row["did_you_mean"] = optional_json(meant(problem));
    json["problems"].push_back(std::move(row));
  }
  return json_document(json);
}

}  // namespace

std::size_t ProblemReport::errors() const {
  return static_cast<std::size_t>(
      std::count_if(problems.begin(), problems.end(), [](const Problem& problem) { return !problem.warning; }));
}

std::string render(Format format, const ProblemReport& report) {
  switch (format) {
    case Format::table:
      return problems_text(report);
    case Format::json:
      return problems_json(report);
    case Format::markdown:
      return problems_markdown(report);
    case Format::csv:
      return problems_csv(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
