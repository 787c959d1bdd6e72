#include "common.h"

#include <algorithm>
#include <array>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {
namespace {

struct Ending {
  std::string_view text;
  Format format;
};
constexpr std::array kEndings = {Ending{".html", Format::html},   Ending{".htm", Format::html},
                                 Ending{".svg", Format::svg},     Ending{".png", Format::png},
                                 Ending{".dot", Format::dot},     Ending{".gv", Format::dot},
                                 Ending{".mmd", Format::mermaid}, Ending{".mermaid", Format::mermaid},
                                 Ending{".json", Format::json},   Ending{".txt", Format::table}};

bool has(const std::vector<Format>& formats, Format format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

}  // namespace

Format Common::form_of_output() const {
  if (format || !output || *output == "-") return form();
  std::vector<std::string> known;
  for (const Ending& ending : kEndings) {
    if (!has(formats, ending.format)) continue;
    if (output->ends_with(ending.text)) return ending.format;
    known.emplace_back(ending.text);
  }
  throw bad_usage("-o {}: the ending tells no form; known are {}; or say --format", printable(*output),
                  join(known, ", "));
}

void add_common(Options& options, Common& common, const std::vector<Format>& formats, bool with_output) {
  common.formats = formats;
  std::vector<std::pair<std::string, std::optional<Format>>> words;
  for (const Format format : formats) words.emplace_back(report::name_of(format), format);
  options.choice("--format", common.format, words, "FORMAT", "how the result is written");
  if (has(formats, Format::json))
    options.flag(
        "--json", [&common] { common.format = Format::json; }, "short for --format json");
  if (with_output) options.add("-o,--output", common.output, "FILE", "write the result to this file");
  options.flag("-q,--quiet", common.console.quiet, "no warnings, no progress");
  options.flag("-v,--verbose", common.console.verbose, "say what is done");
  options.flag("--ascii", Console::ascii, "ASCII alone; by itself where the terminal's locale is not UTF-8");
  add_color(options);
  options.when_parsed([&common] { choose_alphabet(common.output); });
}

void add_color(Options& options) {
  options.choice<Color>("--color", Console::color,
                        {{"always", Color::always}, {"auto", Color::automatic}, {"never", Color::never}}, "WHEN",
                        "colour in messages, bold headings in results");
}

}  // namespace attn::cli
