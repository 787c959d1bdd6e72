#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/table.h"
#include "diff_section.h"

namespace attn::report {
namespace {

using run::PairedArray;
using run::UnpairedArray;

/// "(3, 4)", or "(3, 4) → (4, 3)".
template <typename Text>
std::string change(const Text& a, const Text& b) {
  return a == b ? std::string(a) : fmt::format("{} → {}", a, b);
}

std::string shape_text(const PairedArray& pair) { return change(pair.shape_a.str(), pair.shape_b.str()); }

std::string dtype_text(const PairedArray& pair) { return change(name_of(pair.dtype_a), name_of(pair.dtype_b)); }

Table differing(const DiffReport& report) {
  Table table{{{"Differs"},
               {"Shape"},
               {"Dtype"},
               {"Values", Align::right},
               {"Max abs", Align::right},
               {"Relative", Align::right},
               {"Cosine", Align::right},
               {"Worst at"},
               {"A", Align::right},
               {"B", Align::right}},
              {}};
  for (const PairedArray& pair : report.result.both) {
    if (pair.equal) continue;
    std::vector<std::string> row = {pair.name, shape_text(pair), dtype_text(pair)};
    if (pair.values) {
      row.insert(row.end(), {with_commas(pair.values->mismatches), number(pair.values->max_abs_error),
                             number(pair.similarity.relative), number(pair.similarity.cosine)});
    }
    if (pair.values && pair.values->mismatches > 0) {
      row.insert(row.end(), {fmt::format("[{}]", fmt::join(pair.values->worst_index, ", ")),
                             number(pair.values->expected), number(pair.values->got)});
    }
    row.resize(table.columns.size(), "-");
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string lone_text(const std::vector<UnpairedArray>& arrays, const std::string& file) {
  if (arrays.empty()) return {};
  std::string out = fmt::format("Only in {}:\n", printable(file));
  for (const UnpairedArray& array : arrays)
    out += fmt::format("  {} {} {}\n", printable(array.name), array.shape.str(), name_of(array.dtype));
  return out;
}

std::string totals_text(const DiffReport& report) {
  std::size_t equal = 0;
  for (const PairedArray& pair : report.result.both)
    if (pair.equal) ++equal;
  const std::size_t both = report.result.both.size();
  return fmt::format("A {}, B {}: {} equal, {} different, {} only in A, {} only in B (rtol {}, atol {})",
                     printable(report.a), printable(report.b), equal, both - equal, report.result.only_a.size(),
                     report.result.only_b.size(), number(report.rtol), number(report.atol));
}

Json lone_json(const std::vector<UnpairedArray>& arrays) {
  Json json = Json::array();
  for (const UnpairedArray& array : arrays) {
    json.push_back({{"name", json_text(array.name)},
                    {"shape", json_shape(array.shape)},
                    {"dtype", json_text(name_of(array.dtype))}});
  }
  return json;
}

Json pair_json(const PairedArray& pair) {
  Json json;
  json["name"] = json_text(pair.name);
  json["equal"] = pair.equal;
  json["shape_a"] = json_shape(pair.shape_a);
  json["shape_b"] = json_shape(pair.shape_b);
  json["dtype_a"] = json_text(name_of(pair.dtype_a));
  json["dtype_b"] = json_text(name_of(pair.dtype_b));
  if (!pair.values) return json;
  json["elements"] = pair.values->elements;
  json["mismatches"] = pair.values->mismatches;
  json["max_abs_error"] = pair.values->max_abs_error;
  json["relative"] = pair.similarity.relative;
  json["cosine"] = pair.similarity.cosine;
  json["worst_index"] = pair.values->worst_index;
  json["a"] = pair.values->expected;
  json["b"] = pair.values->got;
  return json;
}

std::string diff_text(const DiffReport& report) {
  const Table table = differing(report);
  return (table.rows.empty() ? "" : plain_table(table) + '\n') + lone_text(report.result.only_a, report.a) +
         lone_text(report.result.only_b, report.b) + totals_text(report) + '\n';
}

std::string diff_markdown(const DiffReport& report) {
  const Table table = differing(report);
  std::string out =
      (table.rows.empty() ? "" : markdown_table(table) + '\n') + markdown_text(totals_text(report)) + '\n';
  for (const auto* side : {&report.result.only_a, &report.result.only_b}) {
    if (side->empty()) continue;
    out += fmt::format("\nOnly in {}:\n\n", markdown_text(side == &report.result.only_a ? report.a : report.b));
    for (const UnpairedArray& array : *side) {
      out += fmt::format("- {} {} {}\n", markdown_text(array.name), array.shape.str(), name_of(array.dtype));
    }
  }
  return out;
}

std::string diff_csv(const DiffReport& report) {
  Table table{{{"name"},
               {"status"},
               {"shape_a"},
               {"shape_b"},
               {"dtype_a"},
               {"dtype_b"},
               {"mismatches"},
               {"max_abs_error"},
               {"relative"},
               {"cosine"},
               {"worst_index"},
               {"a"},
               {"b"}},
              {}};
  for (const PairedArray& pair : report.result.both) {
    std::vector<std::string> row = {
        pair.name,          pair.equal ? "equal" : "differs",   pair.shape_a.str(),
        pair.shape_b.str(), std::string(name_of(pair.dtype_a)), std::string(name_of(pair.dtype_b))};
    if (pair.values) {
      row.insert(row.end(), {std::to_string(pair.values->mismatches), python_repr(pair.values->max_abs_error),
                             python_repr(pair.similarity.relative), python_repr(pair.similarity.cosine),
                             fmt::format("{}", fmt::join(pair.values->worst_index, " ")),
                             python_repr(pair.values->expected), python_repr(pair.values->got)});
    }
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  for (const UnpairedArray& array : report.result.only_a) {
    table.rows.push_back({array.name, "only in a", array.shape.str(), "", std::string(name_of(array.dtype))});
    table.rows.back().resize(table.columns.size());
  }
  for (const UnpairedArray& array : report.result.only_b) {
    table.rows.push_back({array.name, "only in b", "", array.shape.str(), "", std::string(name_of(array.dtype))});
    table.rows.back().resize(table.columns.size());
  }
  return csv_table(table);
}

}  // namespace

Json diff_section(const DiffReport& report) {
  Json diff;
  diff["a"] = json_text(report.a);
  diff["b"] = json_text(report.b);
  diff["rtol"] = report.rtol;
  diff["atol"] = report.atol;
  diff["equal"] = report.result.equal();
  diff["only_a"] = lone_json(report.result.only_a);
  diff["only_b"] = lone_json(report.result.only_b);
  diff["arrays"] = Json::array();
  for (const PairedArray& pair : report.result.both) diff["arrays"].push_back(pair_json(pair));
  return diff;
}

namespace {

std::string diff_json(const DiffReport& report) {
  Json json;
  json["schema"] = "attn.weights/1";
  json["diff"] = diff_section(report);
  return json_document(json);
}

}  // namespace

std::string render(Format format, const DiffReport& report) {
  switch (format) {
    case Format::table:
      return diff_text(report);
    case Format::json:
      return diff_json(report);
    case Format::markdown:
      return diff_markdown(report);
    case Format::csv:
      return diff_csv(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
