// What --help prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options/option_tree.h"

namespace attn::cli {

struct HelpStyle {
  int width = 80;  ///< terminal cells; words are never cut
  bool bold = false;
};

/// As stdout takes it.
[[nodiscard]] HelpStyle help_style();

/// The page of a command of the program, or of the program itself.
[[nodiscard]] std::string help_text(const CommandSpec& spec, const Program& program, const HelpStyle& style);

/// Blank-separated words in lines of at most `width` cells. A longer word has a line of its own.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, int width);

}  // namespace attn::cli
