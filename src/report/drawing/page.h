// Self-contained HTML pages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/report/json.h"
#include "attn/report/table.h"
#include "attn/report/values.h"

namespace attn::report {

/// Shortens a text for a page.
[[nodiscard]] std::string page_text(std::string_view text);

/// The contents of a page, from top to bottom. A section is {"kind", "title", "notes", …}; page.js and the other
/// scripts draw each kind. Strings may contain any characters.
struct Page {
  std::string title;
  std::vector<std::string> about, warnings;
  std::vector<Json> sections;
  std::vector<std::string> payloads;  ///< binary data, to which sections refer by index; html() compresses it
};

/// Returns a section with a table.
[[nodiscard]] Json table_section(const std::string& title, const Table& table);
/// Returns a section with names and values.
[[nodiscard]] Json facts_section(const std::string& title,
                                 const std::vector<std::pair<std::string, std::string>>& facts);

/// Adds the origin of the page, at its end.
void add_provenance(Page& page, const std::optional<Provenance>& provenance);

/// Returns the page as HTML. Its content security policy allows its own scripts and styles, by their hashes, and
/// nothing else.
[[nodiscard]] std::string html(const Page& page);

}  // namespace attn::report
