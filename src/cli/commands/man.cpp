// Manual pages, written from the tree of options.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/base/utf8.h"
#include "commands/examples.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

constexpr std::string_view kExitStatus = R"(.SH EXIT STATUS
.TP
0
success
.TP
1
the numbers differ or a check failed
.TP
2
usage error
.TP
3
invalid file or config
.TP
4
out of memory
.TP
5
device unavailable or failed
.TP
70
internal error
.TP
130, 143
interrupted by SIGINT or SIGTERM
)";

/// Escapes text for groff.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') ? "\\&" : "";
  while (!text.empty()) {
    const auto [point, bytes] = front_of(text);
    text.remove_prefix(bytes);
    if (point >= 0x80) {
      out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(point));
    } else if (point == U'\\') {
      out += "\\e";
    } else if (point == U'-') {
      out += "\\-";
    } else if (point == U'\'') {
      out += "\\(aq";
    } else {
      out += static_cast<char>(point);
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string slanted(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string page_name(const CommandSpec& command) { return command.name.empty() ? "attn" : "attn-" + command.name; }

std::string capitals(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string head(const CommandSpec& command) {
  // The description of the program itself begins with its name, which the heading already has.
  std::string_view about = command.description;
  if (about.starts_with("attn ")) about.remove_prefix(std::string_view("attn ").size());
  return fmt::format(".TH {} 1 \"\" \"attn {}\" \"attn manual\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
                     roff(capitals(page_name(command))), ATTN_VERSION, roff(page_name(command)), roff(about),
                     bold(command.usage()));
}

std::string option_entry(const OptionSpec& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  if (!option.value.empty()) names += (names.empty() ? "" : " ") + slanted(option.value);
  std::string text = roff(option.description);
  if (!option.variable.empty()) text += fmt::format(" [{}]", bold(option.variable));
  return fmt::format(".TP\n{}\n{}\n", names, text);
}

std::string examples_section(std::string_view command) {
  const auto examples = examples_of(command);
  if (examples.empty()) return "";
  std::string out = ".SH EXAMPLES\n";
  for (const Example& example : examples)
    out += fmt::format(".TP\n{}\n.nf\n{}\n.fi\n", roff(example.what), bold(example.line));
  return out;
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string out = ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < pages.size(); ++i)
    out += fmt::format("{}(1){}\n", bold(pages[i]), i + 1 < pages.size() ? "," : "");
  return out;
}

std::string command_page(const CommandSpec& command) {
  std::string out = head(command);
  std::string places;
  std::map<std::string_view, std::string> groups;
  for (const OptionSpec& option : command.options)
    (option.positional() ? places : groups[option.group]) += option_entry(option);
  if (!places.empty()) out += ".SH ARGUMENTS\n" + places;
  out += ".SH OPTIONS\n";
  for (const std::string_view group : option_groups())
    if (const auto found = groups.find(group); found != groups.end())
      out += fmt::format("{}{}", group == option_groups().front() ? "" : fmt::format(".SS {}\n", roff(group)),
                         found->second);
  out += examples_section(command.name);
  return out + std::string(kExitStatus) + see_also({"attn", "attn-help"});
}

std::string program_page(const Program& program) {
  std::string out = head(program.spec());
  out += ".SH COMMANDS\n";
  std::vector<std::string> pages;
  std::set<std::string> variables;
  for (const CommandSpec& spec : program.commands()) {
    pages.push_back(page_name(spec));
    out += fmt::format(".TP\n{}\n{}\n", bold(spec.name), roff(spec.description));
    for (const OptionSpec& option : spec.options)
      if (!option.variable.empty()) variables.insert(option.variable);
  }
  out += ".SH ENVIRONMENT\nA variable sets the default of the option that it is named after, in every command.\n";
  for (const std::string& variable : variables) {
    std::string option = "--";
    for (const char c : variable.substr(5)) option += c == '_' ? '-' : static_cast<char>(c - 'A' + 'a');
    out += fmt::format(".TP\n{}\ndefault of {}\n", bold(variable), bold(option));
  }
  out += fmt::format(".TP\n{}\nany value disables color, unless {} is given\n", bold("NO_COLOR"), bold("--color"));
  out += fmt::format(".TP\n{}\nwidth of the terminal\n", bold("COLUMNS"));
  return out + std::string(kExitStatus) + see_also(pages);
}

struct ManCommand {
  std::optional<Program> program;
  std::string command;
  std::optional<std::string> output;
  bool all = false;

  void declare(Options& options) {
    program = options.program();
    options.add("command", command, "COMMAND", "command whose page to print (default attn)");
    options.flag("--all", all, "write all pages to the folder of -o");
    options.add("-o,--output", output, "FILE", "write the page to this file (default stdout)");
    add_color(options);
  }

  [[nodiscard]] int run() const {
    if (all) return write_all();
    write_result(command.empty() ? program_page(*program) : command_page(program->command(command)), output,
                 Formatting::exact);
    return 0;
  }

  [[nodiscard]] int write_all() const {
    if (!output || *output == "-") throw bad_usage("--all requires a folder: attn man --all -o FOLDER");
    if (!command.empty()) throw bad_usage("--all writes every page; leave out '{}'", printable(command));
    std::error_code error;
    std::filesystem::create_directories(*output, error);
    if (error) throw bad_input("{}: {}", printable(*output), error.message());
    write_result(program_page(*program), *output + "/attn.1", Formatting::exact);
    for (const CommandSpec& each : program->commands())
      write_result(command_page(each), *output + "/attn-" + each.name + ".1", Formatting::exact);
    return 0;
  }
};

}  // namespace

Command man_command() { return command_of<ManCommand>("man", "print manual pages"); }

}  // namespace attn::cli
