// Options that every command with a result takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "options/options.h"
#include "output/console.h"

namespace attn::cli {

using report::Format;

struct Common {
  std::vector<Format> formats;        ///< those that the command has; without --format it is the first
  std::optional<Format> format;       ///< --format
  std::optional<std::string> output;  ///< -o
  Console console;

  /// --format, else what the ending of -o stands for where the command has that form, else the first.
  [[nodiscard]] Format form() const;
  /// Throws Error (usage) where the ending of -o stands for another form than the result has.
  void check_ending() const;
  /// --format, else what the ending of -o stands for (".svg"), else the first. Throws Error (usage) for another ending.
  [[nodiscard]] Format form_of_output() const;
  /// Writes the result to -o, and its name and size to stdout, or to stdout.
  void write(const std::string& text, Look look = Look::fitting) const;
};

/// Adds --format, --json, -o, --quiet, --verbose, --ascii and --color. Commands whose -o is no text file add it
/// themselves.
void add_common(Options& options, Common& common, const std::vector<Format>& formats, bool with_output = true);

/// Throws Error (usage) where `path` stands for a terminal: arrays are bytes.
void refuse_binary_on_terminal(const std::optional<std::string>& path);

/// Throws Error (usage), which proposes a file named as the model, where a page or picture would go to a terminal.
void refuse_page_on_terminal(Format form, const std::optional<std::string>& path,
                             const std::optional<std::string>& model);

/// --color alone, for commands whose result has one form.
void add_color(Options& options);

}  // namespace attn::cli
