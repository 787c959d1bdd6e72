// Options of every command with a result.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"
#include "options/options.h"
#include "output/console.h"

namespace attn::cli {

using report::Format;

struct Common {
  std::vector<Format> formats;        ///< the formats of the command, the default first
  std::optional<Format> format;       ///< --format
  std::optional<std::string> output;  ///< -o
  Console console;

  /// Returns --format, else the format of the extension of -o if the command has it, else the default.
  [[nodiscard]] Format form() const;
  /// Throws Error (usage) if the extension of -o belongs to a format that the result does not have.
  void check_ending() const;
  /// Returns --format, else the format of the extension of -o (".svg"), else the default. Throws Error (usage) for
  /// another extension.
  [[nodiscard]] Format form_of_output() const;
  /// Returns whether the -o of a command that writes arrays is for the report: with --json and a file name that ends in
  /// .json. Otherwise it is for the arrays.
  [[nodiscard]] bool is_for_report(const std::optional<std::string>& target) const;
  /// Writes the report of a command that writes arrays: to `target` if it is for the report, otherwise to stdout, or to
  /// stderr if stdout has the arrays.
  void write_report(const std::string& text, const std::optional<std::string>& target, bool stdout_is_taken) const;
  /// Writes name and size of a file that was written to stdout.
  void tell_file(const std::optional<std::string>& path) const;
  /// Does so for files of arrays, below a report that is a table on stdout.
  void tell_arrays(std::initializer_list<std::optional<std::string>> paths) const;
  /// Writes the result to -o, and its name and size to stdout; without -o writes it to stdout.
  void write(const std::string& text, Formatting formatting = Formatting::fitting) const;
};

/// Adds --format, --json, -o, --quiet, --verbose, --ascii and --color. Commands whose -o is not a text file add it
/// themselves.
void add_common(Options& options, Common& common, const std::vector<Format>& formats, bool with_output = true);

/// Throws Error (usage) if `path` is a terminal, because arrays are binary.
void refuse_binary_on_terminal(const std::optional<std::string>& path);

/// Throws Error (usage), with a file name derived from the model, if a page or picture would go to a terminal.
void refuse_page_on_terminal(Format form, const std::optional<std::string>& path,
                             const std::optional<std::string>& model);

/// Adds only --color, for commands whose result has one format.
void add_color(Options& options);

}  // namespace attn::cli
