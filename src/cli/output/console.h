// The one place that talks: results to stdout or a file, everything else to stderr. Names and texts come from files: no
// control character of theirs reaches a terminal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attn/open/listener.h"

namespace attn::cli {

enum class Color : std::uint8_t { automatic, always, never };

/// The values of the options that every command takes. Shows the messages that open::Listener hears.
struct Console : open::Listener {
  bool quiet = false;
  bool verbose = false;
  /// One for the program: the sentence that ends it is coloured alike.
  inline static Color color = Color::automatic;
  inline static bool ascii = false;
  inline static bool raw = false;  ///< may text of a model reach a terminal byte for byte?

  /// A line on stderr that --quiet leaves out: "attn: warning: …".
  void warn(std::string_view message) const override;
  /// A line on stderr that only --verbose shows.
  void note(std::string_view message) const override;
  /// A Progress.
  [[nodiscard]] std::unique_ptr<open::Work> begin(const std::string& what, double total) const override;
  /// The sentence that ends a command. Never left out, not even where memory is: then it comes without colour.
  void error(std::string_view message) const noexcept;

 private:
  void line(std::string_view label, std::string_view style, std::string_view message) const;
};

/// How a result may look on the terminal that stdout is.
enum class Look : std::uint8_t {
  fitting,    ///< tables folded to its width, bold headings where there is colour, ASCII where the locale has no more
  exact,      ///< byte for byte, but for control characters on a terminal
  model_text  ///< the same of text that a model or a tokenizer made; --raw leaves its control characters
};

/// Tables for stdout, or for `path` where it is given, are laid out in what write_result will show there.
void choose_alphabet(const std::optional<std::string>& path);

/// Writes a result to stdout, or whole to `path` where it is given. --ascii and --color always hold for both and for
/// pipes. Throws Error where it cannot be written.
void write_result(const std::string& text, const std::optional<std::string>& path, Look look = Look::fitting);

/// Writes a part of a result to stdout at once.
void write_now(std::string_view text, Look look);

/// Writes what a command has to say of arrays that it wrote: to stdout, or to stderr where stdout took the arrays;
/// there --quiet leaves it out.
void write_report(const std::string& text, const Console& console, bool stdout_is_taken);

/// May results on stdout be bold?
[[nodiscard]] bool colors_results();

/// Columns of the terminal that stdout is; nothing where it is none.
[[nodiscard]] std::optional<int> terminal_columns();

}  // namespace attn::cli
