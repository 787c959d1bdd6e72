#include "attn/report/score_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

std::string table_of(const ScoreReport& report) {
  std::string out;
  for (const ScoredText& text : report.texts) {
    if (!out.empty()) out += '\n';
    if (report.texts.size() > 1 && text.text) out += python_repr(*text.text) + "\n\n";
    Table table{{{"Id", Align::right}, {"Token"}, {"Log-probability", Align::right}}, {}};
    for (const ScoredToken& token : text.tokens)
      table.rows.push_back(
          {std::to_string(token.id), token.token, token.log_prob ? fmt::format("{:.4f}", *token.log_prob) : "-"});
    out += plain_table(table) + '\n';
    out += fmt::format("{} scored, log-probability {:.4f}, perplexity {:.4f}\n", counted(text.scored(), "token"),
                       text.log_prob(), text.perplexity());
  }
  return out;
}

std::string document(const ScoreReport& report) {
  Json root;
  root["schema"] = "attn.score/1";
  root["model"] = {{"path", json_text(report.path)},
                   {"weights", json_text(report.weights)},
                   {"class_name", json_text(report.class_name)},
                   {"tokenizer", report.tokenizer.empty() ? Json() : json_text(report.tokenizer)}};
  Json results = Json::array();
  for (const ScoredText& text : report.texts) {
    Json tokens = Json::array();
    for (const ScoredToken& token : text.tokens)
      tokens.push_back({{"id", token.id},
                        {"token", report.tokenizer.empty() ? Json() : json_text(token.token)},
                        {"log_prob", token.log_prob ? Json(*token.log_prob) : Json()}});
    results.push_back({{"text", text.text ? json_text(*text.text) : Json()},
                       {"tokens", std::move(tokens)},
                       {"scored", text.scored()},
                       {"log_prob", text.log_prob()},
                       {"perplexity", text.perplexity()}});
  }
  root["results"] = std::move(results);
  return json_document(root);
}

}  // namespace

std::int64_t ScoredText::scored() const {
  return std::count_if(tokens.begin(), tokens.end(),
                       [](const ScoredToken& token) { return token.log_prob.has_value(); });
}

double ScoredText::log_prob() const {
  double sum = 0;
  for (const ScoredToken& token : tokens) sum += token.log_prob.value_or(0.0);
  return sum;
}

double ScoredText::perplexity() const {
  return std::exp(-log_prob() / static_cast<double>(std::max<std::int64_t>(scored(), 1)));
}

std::string render(Format format, const ScoreReport& report) {
  switch (format) {
    case Format::table:
      return table_of(report);
    case Format::json:
      return document(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
