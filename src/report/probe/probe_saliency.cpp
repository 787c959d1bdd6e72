#include <fmt/format.h>

#include <cmath>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/probe_view.h"
#include "views/records.h"

namespace attn::report {

ProbeFindings findings_of(const probe::Saliency& saliency, const probe::Prompt& prompt, const std::string& method,
                          const std::string& baseline, const TokenWord& word, const TokenWord& output_word) {
  ProbeFindings out;
  Json all = Json::array();
  Table table{{{"Position", Align::right}, {"Token"}, {"Value", Align::right}, {"Norm", Align::right}}, {}};
  const auto side = [&](const char* name, const std::vector<probe::TokenSaliency>& tokens,
                        const std::vector<probe::Id>& ids) {
    Json json = Json::array();
    Grid grid{fmt::format("{} of {} tokens", method, name), "", {}, {}, {}};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      json.push_back(
          {{"id", ids[i]}, {"token", json_text(word(ids[i]))}, {"value", tokens[i].value}, {"norm", tokens[i].norm}});
      all.push_back(json.back());
      all.back().update({{"side", name}, {"position", i}});
      grid.set("value", fmt::format("{} {}", i, word(ids[i])), tokens[i].value);
      table.rows.push_back({fmt::format("{}{}", std::string(name) == "encoder" ? "encoder " : "", i), word(ids[i]),
                            fmt::format("{:+.4f}", tokens[i].value), fmt::format("{:.4f}", tokens[i].norm)});
    }
    if (!tokens.empty()) out.grids.push_back(std::move(grid));
    return json;
  };
  Json encoder = side("encoder", saliency.encoder, prompt.encoder);
  Json tokens = side("input", saliency.tokens, prompt.ids);
  out.rows = csv_rows(all, {"side", "position", "token", "value", "norm"});
  out.members = {{"method", method},
                 {"baseline", baseline.empty() ? Json() : json_text(baseline)},
                 {"metric", metric_json(saliency.metric)},
                 {"score", saliency.score},
                 {"baseline_score", json_or_null(saliency.baseline_score)},
                 {"gap", json_or_null(saliency.gap)},
                 {"tokens", std::move(tokens)},
                 {"encoder_tokens", std::move(encoder)}};
  out.text = fmt::format("{} of the {}: {:.4f}\n", method, metric_text(saliency.metric, output_word), saliency.score);
  if (saliency.gap)
    out.text += fmt::format("baseline {}: {:.4f}; the values add up to the difference but for {:.4f}\n",
                            printable(baseline), *saliency.baseline_score, *saliency.gap);
  out.text += '\n' + plain_table(table);
  return out;
}

ProbeFindings findings_of(const std::vector<probe::ComparedPoint>& points, const std::string& other) {
  ProbeFindings out;
  Json json = Json::array();
  Table table{{{"Point"},
               {"Other"},
               {"Largest", Align::right},
               {"Relative", Align::right},
               {"Cosine", Align::right},
               {"CKA", Align::right}},
              {}};
  for (const probe::ComparedPoint& point : points) {
    json.push_back({{"a", point.a},
                    {"b", point.b},
                    {"shape_a", json_shape(point.shape_a)},
                    {"shape_b", json_shape(point.shape_b)},
                    {"max_abs", point.max_abs},
                    {"relative", point.relative},
                    {"cosine", point.cosine},
                    {"cka", point.cka}});
    const auto shown = [](double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"; };
    table.rows.push_back(
        {point.a, point.b, shown(point.max_abs), shown(point.relative), shown(point.cosine), shown(point.cka)});
  }
  out.rows = csv_rows(json, {"a", "b", "max_abs", "relative", "cosine", "cka"});
  out.members = {{"other", json_text(other)}, {"points", std::move(json)}};
  out.text = fmt::format("compared with {}\n\n", printable(other)) + plain_table(table);
  return out;
}

ProbeFindings steering_findings(const std::string& path, const std::string& point, const std::string& at, double norm,
                                std::int64_t positive, std::int64_t negative) {
  ProbeFindings out;
  out.members = {{"file", json_text(path)}, {"point", point},      {"at", at}, {"norm", norm},
                 {"positive", positive},    {"negative", negative}};
  out.text = fmt::format("wrote a vector of norm {} for {} to {}, from {} and {}\n", number(norm), point,
                         printable(path), counted(positive, "positive prompt"), counted(negative, "negative prompt"));
  return out;
}

}  // namespace attn::report
