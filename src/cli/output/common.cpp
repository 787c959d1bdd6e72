#include "output/common.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/report/number.h"

namespace attn::cli {
namespace {

struct Ending {
  std::string_view text;
  Format format;
};
constexpr std::array kEndings = {
    Ending{".html", Format::html},   Ending{".htm", Format::html},        Ending{".svg", Format::svg},
    Ending{".png", Format::png},     Ending{".dot", Format::dot},         Ending{".gv", Format::dot},
    Ending{".mmd", Format::mermaid}, Ending{".mermaid", Format::mermaid}, Ending{".json", Format::json},
    Ending{".txt", Format::table},   Ending{".csv", Format::csv},         Ending{".md", Format::markdown},
    Ending{".tex", Format::latex},   Ending{".py", Format::python}};

/// Extensions of binary files: no command writes text into them.
constexpr std::array<std::string_view, 14> kOthers = {".npz", ".npy", ".safetensors", ".h5",  ".keras",
                                                      ".pdf", ".jpg", ".jpeg",        ".gif", ".onnx",
                                                      ".zip", ".gz",  ".xlsx",        ".pb"};

/// Returns whether the format is a picture or a page. The extension .txt does not select these.
bool is_file_form(Format format) { return format == Format::svg || format == Format::png || format == Format::html; }

bool has(const std::vector<Format>& formats, Format format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

}  // namespace

void Common::check_ending() const {
  if (format || !output || *output == "-" || formats.empty()) return;
  // A table may have any other extension; a page needs its own.
  const bool is_text = !is_file_form(formats.front());
  bool other = is_text
                   ? std::any_of(kOthers.begin(), kOthers.end(), [&](auto ending) { return output->ends_with(ending); })
                   : std::filesystem::path(*output).has_extension();
  std::vector<std::string> known;
  for (const Ending& ending : kEndings) {
    const bool fits = has(formats, ending.format) || (ending.format == Format::table && is_text);
    if (fits) known.emplace_back(ending.text);
    if (output->ends_with(ending.text)) other = !fits;
  }
  if (other)
    throw bad_usage("-o {}: no format of the result has this extension; expected {}", printable(*output),
                    join(known, ", "));
}

Format Common::form() const {
  if (format || !output || *output == "-") return format.value_or(formats.front());
  for (const Ending& ending : kEndings)
    if (output->ends_with(ending.text) && has(formats, ending.format)) return ending.format;
  return formats.front();
}

bool Common::is_for_report(const std::optional<std::string>& target) const {
  return target && target->ends_with(".json") && form() == Format::json;
}

void Common::write_report(const std::string& text, const std::optional<std::string>& target,
                          bool stdout_is_taken) const {
  if (is_for_report(target)) return write_result(text, target);
  cli::write_report(text, console, stdout_is_taken);
}

void refuse_binary_on_terminal(const std::optional<std::string>& path) {
  if (path && io::is_terminal(*path))
    throw bad_usage("binary data is not written to a terminal: write it to a file, or into a pipe");
}

void refuse_page_on_terminal(Format form, const std::optional<std::string>& path,
                             const std::optional<std::string>& model) {
  if (!is_file_form(form) || !io::is_terminal(path.value_or("-"))) return;
  std::string stem = model && *model != "-" ? std::filesystem::path(*model).stem().string() : "";
  if (stem.empty()) stem = "model";
  throw bad_usage("{} is not written to a terminal; write it with -o {}.{}",
                  form == Format::html  ? "a page"
                  : form == Format::png ? "binary data"
                                        : "an SVG picture",
                  printable(stem), report::name_of(form));
}

void Common::write(const std::string& text, Formatting formatting) const {
  write_result(text, output, formatting);
  tell_file(output);
}

void Common::tell_file(const std::optional<std::string>& path) const {
  std::error_code error;
  if (!path || *path == "-" || console.quiet || !std::filesystem::is_regular_file(*path, error)) return;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(*path, error));
  if (!error) write_result(fmt::format("{}: {}\n", printable(*path), report::byte_size(bytes)), std::nullopt);
}

void Common::tell_arrays(std::initializer_list<std::optional<std::string>> paths) const {
  if (form() != Format::table || std::ranges::count(paths, "-") > 0) return;
  for (const std::optional<std::string>& path : paths) tell_file(path);
}

Format Common::form_of_output() const {
  if (format || !output || *output == "-") return form();
  std::vector<std::string> known;
  for (const Ending& ending : kEndings) {
    if (!has(formats, ending.format)) continue;
    if (output->ends_with(ending.text)) return ending.format;
    known.emplace_back(ending.text);
  }
  throw bad_usage("-o {}: unknown extension; expected {}, or give --format", printable(*output), join(known, ", "));
}

void add_common(Options& options, Common& common, const std::vector<Format>& formats, bool with_output) {
  common.formats = formats;
  const OptionGroupGuard group(options, OptionGroup::result);
  if (with_output)
    options.output("-o,--output", common.output, "FILE", "write the result to this file (default stdout)");
  std::vector<std::pair<std::string, std::optional<Format>>> words;
  for (const Format format : formats) words.emplace_back(report::name_of(format), format);
  options.choice("--format", common.format, words, "FORMAT", "output format");
  if (has(formats, Format::json))
    options.flag(
        "--json", [&common] { common.format = Format::json; }, "shorthand for --format json");
  options.group(OptionGroup::common);
  options.flag("-q,--quiet", common.console.quiet, "suppress warnings and progress");
  options.flag("-v,--verbose", common.console.verbose, "print details of the work on stderr");
  options.flag("--ascii", Console::ascii, "use only ASCII characters (default if the locale is not UTF-8)");
  add_color(options);
  options.when_parsed([&common] {
    common.check_ending();
    choose_alphabet(common.output);
  });
}

void add_color(Options& options) {
  const OptionGroupGuard group(options, OptionGroup::common);
  options.choice<Color>("--color", Console::color,
                        {{"always", Color::always}, {"auto", Color::automatic}, {"never", Color::never}}, "WHEN",
                        "color messages and Keras's table, print bold headings (default auto)");
}

}  // namespace attn::cli
