#include <algorithm>

#include "attn/base/error.h"
#include "command.h"

namespace attn::cli {

void add_common(CLI::App& app, Common& common, const std::vector<std::string>& formats, bool with_output) {
  app.add_option("--format", common.format, "how the result is written")
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
  if (std::find(formats.begin(), formats.end(), "json") != formats.end())
    app.add_flag_callback(
        "--json", [&common] { common.format = "json"; }, "short for --format json");
  if (with_output) app.add_option("-o,--output", common.output, "write the result to this file")->type_name("FILE");
  app.add_flag("-q,--quiet", common.console.quiet, "no warnings, no progress");
  app.add_flag("-v,--verbose", common.console.verbose, "say what is done");
  app.add_flag("--ascii", Console::ascii, "ASCII alone; by itself where the terminal's locale is not UTF-8");
  add_color(app);
  app.parse_complete_callback([&common] { choose_alphabet(common.output); });
}

void add_color(CLI::App& app) {
  app.add_option("--color", Console::color, "colour in messages, bold headings in results")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Color>{{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}}))
      ->type_name("WHEN");
}

}  // namespace attn::cli
