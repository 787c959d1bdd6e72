#include "commands/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "attn/base/text.h"
#include "commands/examples.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

constexpr int kNarrowestHelp = 40, kWidestHelp = 110;  // longer lines are hard to read
constexpr int kMostLeft = 26;                          // cells for names; the text of a longer name starts on the next
                                                       // line

constexpr std::string_view kExitCodes =
    "0 success, 1 the numbers differ or a check failed, 2 usage error, 3 invalid file, 4 out of memory, 5 device "
    "unavailable, 70 internal error, 130 and 143 interrupted.";

struct Entry {
  std::string left, right;
};

class Page {
 public:
  explicit Page(const HelpStyle& style) : style_(style) {
    style_.width = std::clamp(style_.width, kNarrowestHelp, kWidestHelp);
  }

  void heading(std::string_view text) {
    if (!text_.empty()) text_ += '\n';
    text_ += fmt::format("{}{}{}\n", style_.bold ? "\x1b[1m" : "", text, style_.bold ? "\x1b[0m" : "");
  }

  void paragraph(std::string_view text, int indent) {
    for (const std::string& line : wrapped(text, style_.width - indent)) add(indent, line);
  }

  /// Adds a line that must not be wrapped.
  void line(int indent, std::string_view text) { add(indent, text); }

  void entries(const std::vector<Entry>& rows) {
    int left = 0;
    for (const Entry& row : rows)
      if (const int width = display_width(row.left); width <= kMostLeft) left = std::max(left, width);
    const int column = 2 + left + 2;
    for (const Entry& row : rows) {
      std::vector<std::string> lines = wrapped(row.right, style_.width - column);
      std::string first = "  " + row.left;
      if (display_width(row.left) <= left && !lines.empty()) {
        first += std::string(static_cast<std::size_t>(column - 2 - display_width(row.left)), ' ') + lines.front();
        lines.erase(lines.begin());
      }
      text_ += first + '\n';
      for (const std::string& rest : lines) add(column, rest);
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add(int indent, std::string_view line) {
    text_ += std::string(static_cast<std::size_t>(indent), ' ');
    text_ += line;
    text_ += '\n';
  }

  HelpStyle style_;
  std::string text_;
};

/// Returns "-o, --output FILE", with blanks if there is no short name.
std::string left_of(const OptionSpec& option) {
  if (option.positional()) return option.value;
  std::string out = option.names.front().size() > 2 ? "    " : "";
  out += join(option.names, ", ");
  return option.value.empty() ? out : out + " " + option.value;
}

/// A group of commands with a common purpose.
struct CommandGroup {
  std::string_view what, names;
};
constexpr std::array kGroups = {
    CommandGroup{"inspect a model", "summary explain validate plan plot heatmap report"},
    CommandGroup{"run and train a model",
                 "run grad train evaluate compare bench generate score tokenize embed transcribe"},
    CommandGroup{"read and write files", "get-config weights convert flatten-script init"},
    CommandGroup{"set up and diagnose", "demo devices doctor completion man help"},
};

/// Returns whether the command is in the group; a command without a group is in the last one.
bool is_in(const CommandGroup& group, const std::string& name) {
  const auto names = [&](const CommandGroup& one) {
    const std::vector<std::string> words = split(one.names, ' ');
    return std::find(words.begin(), words.end(), name) != words.end();
  };
  const bool none = std::none_of(kGroups.begin(), kGroups.end(), names);
  return names(group) || (none && &group == &kGroups.back());
}

void add_program(Page& page, const Program& program) {
  page.heading("Commands:");
  const std::vector<CommandSpec> commands = program.commands();
  for (const CommandGroup& group : kGroups) {
    page.line(1, group.what);
    std::vector<Entry> rows;
    for (const CommandSpec& command : commands)
      if (is_in(group, command.name)) rows.push_back({command.name, command.description});
    page.entries(rows);
  }
  page.line(0, "");
  page.paragraph("Run attn help COMMAND for options and examples.", 0);
  page.heading("Exit codes:");
  page.paragraph(kExitCodes, 2);
}

void add_command(Page& page, const CommandSpec& command) {
  std::vector<Entry> places;
  std::map<std::string_view, std::vector<Entry>> groups;
  for (const OptionSpec& option : command.options) {
    std::string right = option.description;
    if (!option.variable.empty()) right += fmt::format(" [{}]", option.variable);
    (option.positional() ? places : groups[option.group]).push_back({left_of(option), std::move(right)});
  }
  if (!places.empty()) {
    page.heading("Arguments:");
    page.entries(places);
  }
  for (const std::string_view group : option_groups()) {
    const auto found = groups.find(group);
    if (found == groups.end()) continue;
    page.heading(fmt::format("{}:", group));
    page.entries(found->second);
  }
  const auto examples = examples_of(command.name);
  if (examples.empty()) return;
  page.heading("Examples:");
  for (const Example& example : examples) {
    page.line(2, fmt::format("# {}", example.what));
    page.line(2, example.line);
  }
}

struct HelpCommand {
  std::optional<Program> program;
  std::string command;

  void declare(Options& options) {
    program = options.program();
    options.add("command", command, "COMMAND", "command to show");
    add_color(options);
  }

  [[nodiscard]] int run() const {
    const CommandSpec spec = command.empty() ? program->spec() : program->command(command);
    write_result(help_text(spec, *program, help_style()), std::nullopt);
    return 0;
  }
};

}  // namespace

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines;
  for (const std::string& word : split(text, ' ')) {
    const bool fits = !lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width;
    if (fits) {
      lines.back() += ' ' + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::string help_text(const CommandSpec& spec, const Program& program, const HelpStyle& style) {
  Page page(style);
  page.heading("Usage: " + spec.usage());
  page.line(0, "");
  page.paragraph(spec.description, 0);
  if (spec.name.empty()) {
    add_program(page, program);
  } else {
    add_command(page, spec);
  }
  return page.take();
}

HelpStyle help_style() { return {terminal_columns().value_or(80), colors_results()}; }

Command help_command() {
  return command_of<HelpCommand>("help", "show all commands, or one with its options and examples");
}

}  // namespace attn::cli
