// The options of a command as plain values: help, manual pages, completion, variables and suggestions all read them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attn::cli {

struct OptionSpec {
  std::vector<std::string> names;    ///< "-o", "--output"; none: it is known by its place
  std::string value;                 ///< what it takes: "FILE", "N", "{table,json}"; "" for a flag
  std::vector<std::string> choices;  ///< all it takes, where that is a list
  std::string kind;                  ///< the value's type as its command calls it: "FORMAT", whatever the choices
  std::string limits;                ///< "a number above 0", or ""
  std::string description;
  std::string variable;  ///< "ATTN_FORMAT", where one gives the default; known of a command's options
  bool required = false;
  bool repeated = false;  ///< takes more than one word

  [[nodiscard]] bool positional() const { return names.empty(); }
  /// "--output", or "-h" where that is all, or the value's name: what messages call it.
  [[nodiscard]] std::string title() const;
};

struct CommandSpec {
  std::string name;  ///< "summary"; "" of the program itself
  std::string description;
  std::vector<OptionSpec> options;

  /// "attn summary [MODEL] [options]"
  [[nodiscard]] std::string usage() const;
};

[[nodiscard]] OptionSpec spec_of(const CLI::Option& option);
[[nodiscard]] CommandSpec spec_of(const CLI::App& command);

/// The option of this long name, without its dashes; null where the command has none.
[[nodiscard]] const CLI::Option* same_option(const CLI::App& command, const std::string& long_name);

/// The variable of a long option: "ATTN_SEQ_LEN" of --seq-len. An option has one where it takes one value that is no
/// file, several commands have an option of this name, and its command has not set configurable(false) for it. Empty
/// where it has none.
[[nodiscard]] std::string variable_of(const CLI::App& program, const CLI::Option& option);

/// All commands of the program, in the order in which help lists them.
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& program);

/// The program's command of this name. Throws Error (usage) with the one that may have been meant.
[[nodiscard]] const CLI::App& command_named(const CLI::App& program, const std::string& name);

/// All commands, as plain values. It lives as long as the command line that it belongs to.
class Program {
 public:
  explicit Program(const CLI::App& app) : app_(&app) {}

  [[nodiscard]] CommandSpec spec() const;  ///< of the program itself
  [[nodiscard]] std::vector<CommandSpec> commands() const;
  /// Throws Error (usage) for a name that no command has.
  [[nodiscard]] CommandSpec command(const std::string& name) const;

 private:
  const CLI::App* app_;
};

}  // namespace attn::cli
