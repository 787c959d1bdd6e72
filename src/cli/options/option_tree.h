// The options of a command as plain values, for help, manual pages, completion, variables and suggestions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attn::cli {

/// Returns the titles of the groups of options, in the order of the help: that of OptionGroup.
[[nodiscard]] std::span<const std::string_view> option_groups();

struct OptionSpec {
  std::vector<std::string> names;    ///< "-o", "--output"; empty for a positional argument
  std::string value;                 ///< the value in the help: "FILE", "N", "{table,json}"; "" for a flag
  std::vector<std::string> choices;  ///< all accepted values, if there is a list
  std::string kind;                  ///< the type of the value: "FORMAT", with or without choices
  std::string limits;                ///< "a number above 0", or ""
  std::string description;
  std::string group;     ///< the title of its group in the help
  std::string variable;  ///< "ATTN_FORMAT", if there is one; only for options of a command
  bool required = false;
  bool repeated = false;  ///< takes several words

  [[nodiscard]] bool positional() const { return names.empty(); }
  /// Returns the name of the option for messages: "--output", or "-h" without a long name, or the value without any
  /// name.
  [[nodiscard]] std::string title() const;
};

struct CommandSpec {
  std::string name;  ///< "summary"; "" for the program itself
  std::string description;
  std::vector<OptionSpec> options;

  /// Returns "attn summary [MODEL] [options]".
  [[nodiscard]] std::string usage() const;
};

[[nodiscard]] OptionSpec spec_of(const CLI::Option& option);
[[nodiscard]] CommandSpec spec_of(const CLI::App& command);

/// Returns the option with this long name (given without dashes); null if the command has none.
[[nodiscard]] const CLI::Option* same_option(const CLI::App& command, const std::string& long_name);

/// Returns the variable of a long option: "ATTN_SEQ_LEN" for --seq-len. An option has a variable if it takes one value
/// that is not a file, and several commands have an option of this name. An option with configurable(false) has none.
/// Empty without a variable.
[[nodiscard]] std::string variable_of(const CLI::App& program, const CLI::Option& option);

/// Returns the variable of a long name: "ATTN_SEQ_LEN" for "seq-len".
[[nodiscard]] std::string variable_named(std::string_view name);

/// Returns whether values of this kind are files: "FILE", "MODEL", "NAME=FILE".
[[nodiscard]] bool names_a_file(std::string_view kind);

/// Returns all commands of the program, in the order of the help.
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& program);

/// Returns the command of this name. Throws Error (usage) with a suggestion.
[[nodiscard]] const CLI::App& command_named(const CLI::App& program, const std::string& name);

/// All commands, as plain values. Valid as long as the CommandLine that it was made from.
class Program {
 public:
  explicit Program(const CLI::App& app) : app_(&app) {}

  [[nodiscard]] CommandSpec spec() const;  ///< Returns the options of the program itself.
  [[nodiscard]] std::vector<CommandSpec> commands() const;
  /// Throws Error (usage) if there is no such command.
  [[nodiscard]] CommandSpec command(const std::string& name) const;

 private:
  const CLI::App* app_;
};

}  // namespace attn::cli
