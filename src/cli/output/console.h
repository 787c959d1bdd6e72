// All output of the program: results go to stdout or a file, everything else to stderr. Names and texts come from
// files, so their control characters are escaped on a terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attn/open/listener.h"

namespace attn::cli {

enum class Color : std::uint8_t { automatic, always, never };

/// The values of the options that every command has. Shows the messages of open::Listener.
struct Console : open::Listener {
  bool quiet = false;
  bool verbose = false;
  /// Shared by the whole program, because the final error message is colored too.
  inline static Color color = Color::automatic;
  inline static bool ascii = false;
  inline static bool raw = false;  ///< whether a terminal receives the text of a model byte for byte

  /// Writes a line to stderr unless --quiet is given: "attn: warning: …".
  void warn(std::string_view message) const override;
  /// Writes a line to stderr if --verbose is given.
  void note(std::string_view message) const override;
  /// Starts to show progress.
  [[nodiscard]] std::unique_ptr<open::Work> begin(const std::string& what, double total) const override;
  /// Writes the error that ends a command, regardless of --quiet. Without memory it has no color.
  void error(std::string_view message) const noexcept;

 private:
  void line(std::string_view label, std::string_view style, std::string_view message) const;
};

/// The formatting of a result on a terminal.
enum class Formatting : std::uint8_t {
  fitting,    ///< tables folded to the terminal's width, bold headings with color, ASCII if the locale requires it
  exact,      ///< byte for byte, except control characters on a terminal
  model_text  ///< the exact text of a model or a tokenizer; a terminal gets control characters only with --raw
};

/// Selects the characters of tables for stdout, or for `path` if it is given. write_result uses the same.
void choose_alphabet(const std::optional<std::string>& path);

/// Writes a result to stdout, or atomically to `path` if it is given. --ascii and --color apply to both and to pipes.
/// Throws Error if it cannot be written.
void write_result(const std::string& text, const std::optional<std::string>& path,
                  Formatting formatting = Formatting::fitting);

/// Writes a part of a result to stdout immediately.
void write_now(std::string_view text, Formatting formatting);

/// Writes the report about arrays that a command wrote. It goes to stdout, or to stderr if stdout has the arrays; on
/// stderr, --quiet suppresses it.
void write_report(const std::string& text, const Console& console, bool stdout_is_taken);

/// Returns whether results on stdout may be bold.
[[nodiscard]] bool colors_results();

/// Returns the width of the terminal on stdout in columns; nothing if stdout is not a terminal.
[[nodiscard]] std::optional<int> terminal_columns();

}  // namespace attn::cli
