#include "attn/report/tokens_view.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

Json optional_id(const std::optional<std::int32_t>& id) { return id ? Json(*id) : Json(); }

std::string size_text(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", with_commas(static_cast<std::int64_t>(count)), what, count == 1 ? "" : "s");
}

std::string table_of(const TokensReport& report) {
  std::string out;
  for (const TokenizedText& text : report.texts) {
    if (!out.empty()) out += '\n';
    Table table{{{"Id", Align::right}, {"Token"}, {"Text"}}, {}};
    for (std::size_t i = 0; i < text.ids.size(); ++i)
      table.rows.push_back({std::to_string(text.ids[i]), text.tokens[i], python_repr(text.parts[i])});
    if (report.texts.size() > 1) out += python_repr(text.text.value_or(text.decoded)) + "\n\n";
    if (!table.rows.empty()) out += plain_table(table) + '\n';
    out += fmt::format("{}, {}\n", size_text(text.ids.size(), "token"),
                       size_text(text.text.value_or(text.decoded).size(), "byte"));
  }
  return out;
}

std::string document(const TokensReport& report) {
  Json root;
  root["schema"] = "attn.tokenize/1";
  root["tokenizer"] = {{"class_name", json_text(report.class_name)},  {"vocabulary_size", report.size},
                       {"start_token_id", optional_id(report.start)}, {"end_token_id", optional_id(report.end)},
                       {"pad_token_id", optional_id(report.pad)},     {"stop_token_ids", report.stop}};
  Json results = Json::array();
  for (const TokenizedText& text : report.texts) {
    Json tokens = Json::array();
    for (const std::string& token : text.tokens) tokens.push_back(json_text(token));
    results.push_back({{"text", text.text ? json_text(*text.text) : Json()},
                       {"ids", text.ids},
                       {"tokens", std::move(tokens)},
                       {"decoded", json_text(text.decoded)}});
  }
  root["results"] = std::move(results);
  return json_document(root);
}

std::string id_lines(const TokensReport& report) {
  std::string out;
  for (const TokenizedText& text : report.texts) out += fmt::format("{}\n", fmt::join(text.ids, ","));
  return out;
}

std::string decoded_lines(const TokensReport& report) {
  std::string out;
  for (const TokenizedText& text : report.texts) out += text.decoded + '\n';
  return out;
}

}  // namespace

std::string render(Format format, const TokensReport& report) {
  switch (format) {
    case Format::table:
      return table_of(report);
    case Format::text:
      return decoded_lines(report);
    case Format::ids:
      return id_lines(report);
    case Format::json:
      return document(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
