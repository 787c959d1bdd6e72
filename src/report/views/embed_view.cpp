#include "attn/report/embed_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

/// With more texts, a table of all pairs is too wide for a terminal.
constexpr std::size_t kFewTexts = 8;
constexpr std::size_t kShownText = 40;

std::span<const float> vector_of(const Tensor& vectors, std::size_t text) {
  const auto width = static_cast<std::size_t>(vectors.shape()[1]);
  return vectors.as<float>().subspan(text * width, width);
}

/// Returns the other text with the greatest similarity, and the similarity. There are at least two texts.
std::pair<std::size_t, double> nearest(const EmbedReport& report, std::size_t text) {
  const std::size_t first = text == 0 ? 1 : 0;
  std::pair best(first, report.similarity(text, first));
  for (std::size_t other = first + 1; other < report.texts.size(); ++other) {
    if (other == text) continue;
    if (const double similarity = report.similarity(text, other); similarity > best.second) best = {other, similarity};
  }
  return best;
}

std::string shown(double similarity) { return fmt::format("{:.4f}", similarity); }

std::string table_of(const EmbedReport& report) {
  const std::size_t count = report.texts.size();
  const bool few = count <= kFewTexts;
  Table table{{{"#", Align::right}, {"Text"}, {"Tokens", Align::right}}, {}};
  if (few) {
    for (std::size_t i = 0; i < count; ++i) table.columns.push_back({std::to_string(i + 1), Align::right});
  } else if (report.compares()) {
    table.columns.insert(table.columns.end(), {{"Nearest", Align::right}, {"Similarity", Align::right}});
  }
  for (std::size_t i = 0; i < count; ++i) {
    const EmbeddedText& text = report.texts[i];
    std::vector<std::string> row = {std::to_string(i + 1), python_repr(shortened(text.text, kShownText)),
                                    fmt::format("{}{}", text.tokens, text.is_cut ? " (cut)" : "")};
    if (few) {
      for (std::size_t other = 0; other < count; ++other) row.push_back(shown(report.similarity(i, other)));
    } else if (report.compares()) {
      const auto [other, similarity] = nearest(report, i);
      row.insert(row.end(), {std::to_string(other + 1), shown(similarity)});
    }
    table.rows.push_back(std::move(row));
  }
  return plain_table(table) + fmt::format("\n{}, vectors of {}, {}\n", counted(std::ssize(report.texts), "text"),
                                          counted(report.vectors.shape()[1], "number"),
                                          report.compares()
                                              ? "similarity as dot product"
                                              : "no similarities above " + counted(kMostCompared, "text"));
}

std::string document(const EmbedReport& report) {
  Json root;
  root["schema"] = "attn.embed/1";
  root["model"] = {{"path", json_text(report.path)},
                   {"weights", json_text(report.weights)},
                   {"class_name", json_text(report.class_name)},
                   {"tokenizer", json_text(report.tokenizer)}};
  root["dimensions"] = report.vectors.shape()[1];
  Json results = Json::array(), similarity = report.compares() ? Json::array() : Json();
  for (std::size_t i = 0; i < report.texts.size(); ++i) {
    const EmbeddedText& text = report.texts[i];
    Json numbers = Json::array();
    for (const float number : vector_of(report.vectors, i)) numbers.push_back(static_cast<double>(number));
    results.push_back({{"text", json_text(text.text)},
                       {"tokens", text.tokens},
                       {"cut", text.is_cut},
                       {"embedding", std::move(numbers)}});
    if (!report.compares()) continue;
    Json row = Json::array();
    for (std::size_t other = 0; other < report.texts.size(); ++other) row.push_back(report.similarity(i, other));
    similarity.push_back(std::move(row));
  }
  root["results"] = std::move(results);
  root["similarity"] = std::move(similarity);
  return json_document(root);
}

}  // namespace

double EmbedReport::similarity(std::size_t one, std::size_t other) const {
  const std::span<const float> a = vector_of(vectors, one), b = vector_of(vectors, other);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

std::string render(Format format, const EmbedReport& report) {
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
