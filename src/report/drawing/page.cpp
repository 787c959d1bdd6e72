#include "page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attn/base/text.h"
#include "deflate.h"
#include "page_assets.h"
#include "text/escape.h"

namespace attn::report {
namespace {

using page::Asset;

bool has(const Page& page, std::string_view kind) {
  return std::any_of(page.sections.begin(), page.sections.end(),
                     [&](const Json& section) { return section["kind"] == kind; });
}

std::string hashes(const std::vector<const Asset*>& assets) {
  std::string out;
  for (const Asset* asset : assets) out += fmt::format(" 'sha256-{}'", asset->sha256);
  return out;
}

}  // namespace

std::string page_text(std::string_view text) {
  constexpr int kLongest = 300;
  return shortened(printable(text), kLongest);
}

Json table_section(const std::string& title, const Table& table) {
  Json columns = Json::array();
  for (const TableColumn& column : table.columns)
    columns.push_back({{"header", column.header}, {"right", column.align == Align::right}});
  Json rows = Json::array();
  for (const std::vector<std::string>& row : table.rows) {
    Json cells = Json::array();
    for (const std::string& cell : row) cells.push_back(page_text(cell));
    rows.push_back(std::move(cells));
  }
  return {{"kind", "table"}, {"title", title}, {"columns", columns}, {"rows", rows}};
}

Json facts_section(const std::string& title, const std::vector<std::pair<std::string, std::string>>& facts) {
  Json items = Json::array();
  for (const auto& [key, value] : facts) items.push_back(Json::array({page_text(key), page_text(value)}));
  return {{"kind", "facts"}, {"title", title}, {"items", items}};
}

void add_provenance(Page& page, const std::optional<Provenance>& provenance) {
  if (!provenance) return;
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [name, value] : {std::pair("Model", provenance->file), std::pair("SHA-256", provenance->sha256),
                                    std::pair("Made by", provenance->version), std::pair("Date", provenance->date),
                                    std::pair("Command", provenance->command)})
    if (!value.empty()) facts.emplace_back(name, value);
  page.sections.push_back(facts_section("Origin", facts));
}

std::string html(const Page& page) {
  std::vector<const Asset*> styles = {&page::kPageCss}, scripts = {&page::kPageJs};
  if (has(page, "plot")) {
    styles.push_back(&page::kPlotCss);
    scripts.push_back(&page::kPlotJs);
  }
  if (has(page, "grid")) {
    styles.push_back(&page::kGridCss);
    scripts.push_back(&page::kGridJs);
  }
  if (has(page, "heatmap")) {
    styles.push_back(&page::kHeatmapCss);
    scripts.push_back(&page::kHeatmapJs);
  }
  scripts.push_back(&page::kStartJs);

  const Json data = {{"title", page_text(page.title)},
                     {"about", page.about},
                     {"warnings", page.warnings},
                     {"sections", page.sections}};
  std::string style_text, script_text, payload_text;
  for (const Asset* asset : styles) style_text += fmt::format("<style>{}</style>\n", asset->text);
  for (const Asset* asset : scripts) script_text += fmt::format("<script>{}</script>\n", asset->text);
  for (std::size_t i = 0; i < page.payloads.size(); ++i) {
    payload_text += fmt::format("<script type=\"application/octet-stream\" id=\"payload-{}\">", i);
    payload_text += base64(deflated(page.payloads[i]));
    payload_text += "</script>\n";
  }
  const std::array<std::pair<std::string_view, std::string>, 5> parts = {{
      {"{policy}", fmt::format("default-src 'none'; script-src{}; style-src{}; base-uri 'none'; form-action 'none'",
                               hashes(scripts), hashes(styles))},
      {"{styles}", style_text},
      {"{data}", script_json(data)},
      {"{payloads}", payload_text},
      {"{scripts}", script_text},
  }};
  // Replaces the marks of the frame in order, so that inserted text is not scanned again.
  std::string out;
  std::string_view frame = page::kPageHtml.text;
  for (const auto& [mark, text] : parts) {
    const std::size_t at = frame.find(mark);
    out.append(frame.substr(0, at)).append(text);
    frame.remove_prefix(at + mark.size());
  }
  return out.append(frame);
}

}  // namespace attn::report
