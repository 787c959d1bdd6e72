// The output of --help.
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

/// Returns the style for stdout.
[[nodiscard]] HelpStyle help_style();

/// Returns the help of a command, or of the program itself.
[[nodiscard]] std::string help_text(const CommandSpec& spec, const Program& program, const HelpStyle& style);

/// Wraps blank-separated words into lines of at most `width` cells. A longer word has its own line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, int width);

}  // namespace attn::cli
