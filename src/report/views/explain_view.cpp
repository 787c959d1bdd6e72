#include "attn/report/explain_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

using keras::ClassTotals;
using keras::Count;
using keras::Explanation;
using keras::Identity;
using keras::NamedNumber;
using keras::Product;

std::string size_text(const ExplainedModel& model) {
  std::string out = fmt::format("batch {}", model.batch);
  if (model.seq_len) out += fmt::format(", length {}", *model.seq_len);
  return out;
}

std::string title(const Explanation& it) {
  return it.class_name.empty() ? it.name : fmt::format("{} ({})", it.name, it.class_name);
}

bool has_symbols(const Product& line) {
  for (const NamedNumber& factor : line.factors)
    if (!factor.symbol.empty()) return true;
  return false;
}

/// Returns the product as text: "2 × B × d_model", or with `numbers` "2 × 1 × 512".
std::string product_text(const Product& line, bool numbers) {
  std::vector<std::string> words;
  if (line.calls > 1) words.push_back(fmt::format("{} times", line.calls));
  for (const NamedNumber& factor : line.factors)
    words.push_back(numbers || factor.symbol.empty() ? with_commas(factor.value) : factor.symbol);
  return join(words, " × ");
}

/// Returns the formula as text: "d_model × h × d_head = 262,144". The numbers of factors are omitted if the shape of a
/// variable already shows them.
std::string formula_text(const Product& line) {
  std::string out;
  if (line.factors.size() > 1 || has_symbols(line)) {
    out = product_text(line, false) + " = ";
    if (has_symbols(line) && !line.shape && line.factors.size() > 1) out += product_text(line, true) + " = ";
  }
  return out + with_commas(line.value);
}

std::string name_text(const Product& line) {
  return line.shape ? fmt::format("{} {}", line.what, line.shape->str()) : line.what;
}

std::string identity_text(const Identity& identity) {
  std::string out = fmt::format("{} = {}", identity.formula, with_commas(identity.value));
  return identity.since.empty() ? out : out + ", since " + identity.since;
}

std::string total_text(const Explanation& it) {
  std::string out = with_commas(it.total_params);
  if (it.trainable_params != it.total_params)
    return out + fmt::format(", {} of them trainable", with_commas(it.trainable_params));
  return out + ", all of them trainable";
}

/// Returns the reason why there are no FLOPs.
std::string_view no_flops(const Explanation& it) {
  return it.custom ? "the layer has a custom class, whose Python code is not run"
                   : "moving, selecting and comparing elements is no arithmetic";
}

// ---- LaTeX

/// Escapes text for LaTeX.
std::string latex_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '_':
      case '&':
      case '%':
      case '$':
      case '#':
      case '{':
      case '}':
        out += '\\';
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Converts one of attn's formulas: "3·d_model² = 1,024".
std::string latex_formula(std::string_view formula) {
  std::string out;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const std::string_view rest = formula.substr(i);
    const auto replace = [&](std::string_view what, std::string_view with) {
      if (!rest.starts_with(what)) return false;
      out += with;
      i += what.size() - 1;
      return true;
    };
    if (replace("×", "\\times") || replace("·", " \\cdot ") || replace("²", "^2") || replace(",", "{,}") ||
        replace("times", "\\text{times}"))
      continue;
    if (rest.front() == '_') {
      std::size_t end = i + 1;
      while (end < formula.size() && formula[end] >= 'a' && formula[end] <= 'z') ++end;
      out += "_{\\text{" + std::string(formula.substr(i + 1, end - i - 1)) + "}}";
      i = end - 1;
      continue;
    }
    out += rest.front();
  }
  return out;
}

void add_align(std::string& out, const std::vector<std::pair<std::string, std::string>>& lines) {
  out += "\\begin{align*}\n";
  for (std::size_t i = 0; i < lines.size(); ++i)
    out += fmt::format("  \\text{{{}}} &: {}{}\n", latex_text(lines[i].first), lines[i].second,
                       i + 1 < lines.size() ? " \\\\" : "");
  out += "\\end{align*}\n";
}

// ---- JSON

Json factors_json(const Product& line) {
  Json list = Json::array();
  for (const NamedNumber& factor : line.factors) {
    Json json;
    json["symbol"] = factor.symbol.empty() ? Json() : Json(factor.symbol);
    json["value"] = json_integer(factor.value);
    list.push_back(std::move(json));
  }
  return list;
}

Json product_json(const Product& line) {
  Json json;
  json["name"] = json_text(line.what);
  if (line.shape) json["shape"] = json_shape(*line.shape);
  json["factors"] = factors_json(line);
  json["times"] = line.calls;
  json["formula"] = json_text(formula_text(line));
  json["value"] = json_integer(line.value);
  return json;
}

Json head_json(const ExplainedModel& model) {
  Json json;
  json["schema"] = "attn.explain/1";
  json["model"] = json_text(model.name);
  json["batch"] = model.batch;
  json["seq_len"] = model.seq_len ? Json(*model.seq_len) : Json();
  return json;
}

// ---- The overview

Count params_of(const std::vector<ClassTotals>& classes) {
  Count sum = 0;
  for (const ClassTotals& row : classes) sum += row.params;
  return sum;
}
Count flops_of(const std::vector<ClassTotals>& classes) {
  Count sum = 0;
  for (const ClassTotals& row : classes) sum += row.flops;
  return sum;
}

double share(Count part, Count whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Table overview_table(const std::vector<ClassTotals>& classes) {
  Table table{{{"Class"},
               {"Layers", Align::right},
               {"Params", Align::right},
               {"%", Align::right},
               {"FLOPs", Align::right},
               {"%", Align::right},
               {"Parameters of the first"}},
              {}};
  const Count params = params_of(classes), flops = flops_of(classes);
  std::int64_t layers = 0;
  for (const ClassTotals& row : classes) {
    layers += row.layers;
    table.rows.push_back({row.class_name, fmt::format("{}", row.layers), with_commas(row.params),
                          percent(share(row.params, params)), with_commas(row.flops), percent(share(row.flops, flops)),
                          row.params == 0 ? "none: " + row.how : row.how});
  }
  table.rows.push_back(
      {"total", fmt::format("{}", layers), with_commas(params), percent(1), with_commas(flops), percent(1), ""});
  return table;
}

std::string explain_text(const ExplainedModel& model, const Explanation& it) {
  std::string out = fmt::format("{} in {}\n", printable(title(it)), printable(model.name));
  if (!it.symbols.empty()) out += '\n';
  std::size_t width = 0;
  for (const keras::Symbol& symbol : it.symbols)
    width = std::max(width, static_cast<std::size_t>(display_width(symbol.symbol)));
  for (const keras::Symbol& symbol : it.symbols)
    out += fmt::format("  {:{}} = {}{}\n", symbol.symbol, width, with_commas(symbol.value),
                       symbol.meaning.empty() ? "" : ", " + symbol.meaning);
  out += "\nParameters\n";
  for (const Product& line : it.params)
    out += fmt::format("  {}: {}\n", printable(name_text(line)), formula_text(line));
  for (const Identity& identity : it.identities)
    out += fmt::format("  {}: {}\n", identity.what, identity_text(identity));
  out += it.params.empty() ? fmt::format("  none: {}\n", it.no_params) : fmt::format("  total: {}\n", total_text(it));
  out += fmt::format("\nFLOPs at {}\n", size_text(model));
  for (const Product& line : it.flops) out += fmt::format("  {}: {}\n", printable(name_text(line)), formula_text(line));
  out += it.flops.empty() ? fmt::format("  {}: {}\n", it.custom ? "not known" : "none", no_flops(it))
                          : fmt::format("  total: {}\n", with_commas(it.total_flops));
  return out;
}

std::string explain_markdown(const ExplainedModel& model, const Explanation& it) {
  std::string out = fmt::format("## {} in {}\n\n", markdown_text(title(it)), markdown_text(model.name));
  for (const keras::Symbol& symbol : it.symbols)
    out += fmt::format("- {} = {}{}\n", markdown_text(symbol.symbol), with_commas(symbol.value),
                       symbol.meaning.empty() ? "" : ", " + symbol.meaning);
  const auto add_table = [&](const std::string& what, const std::vector<Product>& lines) {
    Table table{{{what}, {"Arithmetic"}}, {}};
    for (const Product& line : lines) table.rows.push_back({name_text(line), formula_text(line)});
    if (&lines == &it.params)
      for (const Identity& identity : it.identities) table.rows.push_back({identity.what, identity_text(identity)});
    table.rows.push_back({"total", &lines == &it.params ? total_text(it) : with_commas(it.total_flops)});
    out += "\n" + markdown_table(table);
  };
  if (it.params.empty()) {
    out += fmt::format("\nNo parameters: {}.\n", it.no_params);
  } else {
    add_table("Parameters", it.params);
  }
  if (it.flops.empty()) {
    out += fmt::format("\n{}: {}.\n", it.custom ? "FLOPs not known" : "No FLOPs", no_flops(it));
  } else {
    add_table(fmt::format("FLOPs at {}", size_text(model)), it.flops);
  }
  return out;
}

std::string explain_latex(const ExplainedModel& model, const Explanation& it) {
  std::string out = fmt::format("\\paragraph{{{} in {}}}\n", latex_text(title(it)), latex_text(model.name));
  std::vector<std::string> symbols;
  for (const keras::Symbol& symbol : it.symbols)
    symbols.push_back(fmt::format("${} = {}${}", latex_formula(symbol.symbol), latex_formula(with_commas(symbol.value)),
                                  symbol.meaning.empty() ? "" : " (" + latex_text(symbol.meaning) + ")"));
  if (!symbols.empty()) out += join(symbols, ", ") + ".\n";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Product& line : it.params) lines.emplace_back(name_text(line), latex_formula(formula_text(line)));
  for (const Identity& identity : it.identities) {
    std::string formula = latex_formula(fmt::format("{} = {}", identity.formula, with_commas(identity.value)));
    if (!identity.since.empty()) formula += ", \\text{ since } " + latex_formula(identity.since);
    lines.emplace_back(identity.what, std::move(formula));
  }
  if (lines.empty()) {
    out += fmt::format("No parameters: {}.\n", latex_text(it.no_params));
  } else {
    lines.emplace_back("parameters", latex_formula(with_commas(it.total_params)));
    add_align(out, lines);
  }
  lines.clear();
  for (const Product& line : it.flops) lines.emplace_back(name_text(line), latex_formula(formula_text(line)));
  if (lines.empty()) {
    out += fmt::format("{}: {}.\n", it.custom ? "FLOPs not known" : "No FLOPs", no_flops(it));
  } else {
    lines.emplace_back("FLOPs at " + size_text(model), latex_formula(with_commas(it.total_flops)));
    add_align(out, lines);
  }
  return out;
}

std::string explain_json(const ExplainedModel& model, const Explanation& it) {
  Json json = head_json(model);
  json["name"] = json_text(it.name);
  json["class_name"] = json_text(it.class_name);
  json["symbols"] = Json::array();
  for (const keras::Symbol& symbol : it.symbols) {
    Json row;
    row["symbol"] = symbol.symbol;
    row["value"] = json_integer(symbol.value);
    row["meaning"] = symbol.meaning;
    json["symbols"].push_back(std::move(row));
  }
  json["params"] = Json::array();
  for (const Product& line : it.params) json["params"].push_back(product_json(line));
  json["identities"] = Json::array();
  for (const Identity& identity : it.identities) {
    Json row;
    row["name"] = identity.what;
    row["formula"] = identity.formula;
    row["value"] = json_integer(identity.value);
    row["since"] = identity.since.empty() ? Json() : Json(identity.since);
    json["identities"].push_back(std::move(row));
  }
  json["no_params"] = it.no_params.empty() ? Json() : json_text(it.no_params);
  json["total_params"] = json_integer(it.total_params);
  json["trainable_params"] = json_integer(it.trainable_params);
  json["flops"] = Json::array();
  for (const Product& line : it.flops) json["flops"].push_back(product_json(line));
  json["total_flops"] = json_integer(it.total_flops);
  return json_document(json);
}

std::string overview_text(const ExplainedModel& model, const std::vector<ClassTotals>& classes) {
  return fmt::format("{} ({}), {}\n\n", printable(model.name), printable(model.class_name), size_text(model)) +
         plain_table(overview_table(classes));
}

std::string overview_markdown(const ExplainedModel& model, const std::vector<ClassTotals>& classes) {
  return fmt::format("## {} ({}): {}\n\n", markdown_text(model.name), markdown_text(model.class_name),
                     size_text(model)) +
         markdown_table(overview_table(classes));
}

std::string overview_latex(const ExplainedModel& model, const std::vector<ClassTotals>& classes) {
  std::string out = fmt::format("\\paragraph{{{} ({}), {}}}\n", latex_text(model.name), latex_text(model.class_name),
                                size_text(model));
  out += "\\begin{tabular}{lrrr}\n  Class & Layers & Parameters & FLOPs \\\\\n  \\hline\n";
  for (const ClassTotals& row : classes)
    out += fmt::format("  {} & {} & {} & {} \\\\\n", latex_text(row.class_name), row.layers, with_commas(row.params),
                       with_commas(row.flops));
  return out + fmt::format("  \\hline\n  total & & {} & {}\n\\end{{tabular}}\n", with_commas(params_of(classes)),
                           with_commas(flops_of(classes)));
}

std::string overview_json(const ExplainedModel& model, const std::vector<ClassTotals>& classes) {
  Json json = head_json(model);
  json["classes"] = Json::array();
  const Count params = params_of(classes), flops = flops_of(classes);
  for (const ClassTotals& row : classes) {
    Json of_class;
    of_class["class_name"] = json_text(row.class_name);
    of_class["layers"] = row.layers;
    of_class["params"] = json_integer(row.params);
    of_class["params_share"] = share(row.params, params);
    of_class["flops"] = json_integer(row.flops);
    of_class["flops_share"] = share(row.flops, flops);
    of_class["how"] = json_text(row.how);
    json["classes"].push_back(std::move(of_class));
  }
  json["total_params"] = json_integer(params);
  json["total_flops"] = json_integer(flops);
  return json_document(json);
}

}  // namespace

std::string render(Format format, const ExplainedModel& model, const Explanation& explanation) {
  switch (format) {
    case Format::table:
      return explain_text(model, explanation);
    case Format::json:
      return explain_json(model, explanation);
    case Format::markdown:
      return explain_markdown(model, explanation);
    case Format::latex:
      return explain_latex(model, explanation);
    default:
      refuse(format);
  }
}

std::string render(Format format, const ExplainedModel& model, const std::vector<ClassTotals>& classes) {
  switch (format) {
    case Format::table:
      return overview_text(model, classes);
    case Format::json:
      return overview_json(model, classes);
    case Format::markdown:
      return overview_markdown(model, classes);
    case Format::latex:
      return overview_latex(model, classes);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
