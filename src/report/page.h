// Pages that are one file and ask nobody for anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/report/json.h"
#include "attn/report/table.h"
#include "attn/report/values.h"

namespace attn::report {

/// A text at a length that a page has room for.
[[nodiscard]] std::string page_text(std::string_view text);

/// What a page shows, from top to bottom. A section is {"kind", "title", "notes", …}; page.js and its like draw each
/// kind. Text in them may hold anything.
struct Page {
  std::string title;
  std::vector<std::string> about, warnings;
  std::vector<Json> sections;
  std::vector<std::string> payloads;  ///< bytes that sections name by their index; they are compressed here
};

/// A section with a table.
[[nodiscard]] Json table_section(const std::string& title, const Table& table);
/// A section of names and values.
[[nodiscard]] Json facts_section(const std::string& title,
                                 const std::vector<std::pair<std::string, std::string>>& facts);

/// How it came about, at its end.
void add_provenance(Page& page, const std::optional<Provenance>& provenance);

/// The page as HTML. Its policy lets it run its own scripts and styles, by their hashes, and load nothing.
[[nodiscard]] std::string html(const Page& page);

}  // namespace attn::report
