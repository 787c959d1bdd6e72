#include "grid_page.h"

#include <algorithm>
#include <cmath>

#include "drawing/page.h"
#include "views/grid_text.h"

namespace attn::report {
namespace {

/// A table of more records makes a page slow; CSV has all of them.
constexpr std::size_t kMostRecords = 2000;

Json grid_section(const Grid& grid) {
  const double largest = grid.largest();
  Json values = Json::array(), texts = Json::array();
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    Json numbers = Json::array(), words = Json::array();
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const double value = grid.values[r][c];
      numbers.push_back(std::isfinite(value) ? Json(value) : Json());
      words.push_back(grid.words.empty() ? cell_number(value, largest, grid.is_signed) : page_text(grid.words[r][c]));
    }
    values.push_back(std::move(numbers));
    texts.push_back(std::move(words));
  }
  const auto names = [](const std::vector<std::string>& all) {
    Json out = Json::array();
    for (const std::string& name : all) out.push_back(page_text(name));
    return out;
  };
  return {{"kind", "grid"},
          {"title", page_text(grid.title)},
          {"rows", names(grid.rows)},
          {"columns", names(grid.columns)},
          {"values", std::move(values)},
          {grid.words.empty() ? "short" : "words", std::move(texts)}};
}

}  // namespace

std::string grid_page(const std::string& title, const ProbeReport& report) {
  Page page;
  page.title = page_text(title);
  for (const probe::Prompt& prompt : report.prompts) {
    std::string tokens = "tokens:";
    for (const std::int32_t id : prompt.ids) tokens += " " + report.word(id);
    page.about.push_back(page_text(tokens));
  }
  for (const Grid& grid : report.findings.grids) page.sections.push_back(grid_section(grid));
  Table records = report.findings.rows;
  if (records.rows.size() > kMostRecords) {
    page.warnings.push_back("the table below shows the first 2,000 records; --format csv has all of them");
    records.rows.resize(kMostRecords);
  }
  page.sections.push_back(table_section("Records", records));
  add_provenance(page, report.provenance);
  return html(page);
}

}  // namespace attn::report
