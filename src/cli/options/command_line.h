// The command line: the command and its options.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "options/command.h"

namespace attn::cli {

/// All commands and their options.
class CommandLine {
 public:
  enum class Action { command, help, version };

  /// `version` is the output of --version.
  CommandLine(std::span<const Command> commands, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// Throws Error (usage) for an invalid command line.
  [[nodiscard]] Action parse(const std::vector<std::string>& words);
  /// Runs the parsed command and returns its exit code.
  [[nodiscard]] int run() const;

  /// Returns the outputs that the parsed command will write.
  [[nodiscard]] std::vector<OutputPath> outputs() const;
  /// Returns the input files of the parsed command, as Options::inputs does.
  [[nodiscard]] std::vector<std::string> inputs() const;

  [[nodiscard]] Program program() const;
  /// Returns the named command, or the program if there is none.
  [[nodiscard]] CommandSpec named() const;

 private:
  std::unique_ptr<CLI::App> app_;
  struct Parsed {
    CLI::App* app;
    Run run;
    Options::Outputs outputs;
    Options::Inputs inputs;
  };
  [[nodiscard]] const Parsed& chosen() const;

  std::vector<Parsed> commands_;
  CLI::App* chosen_ = nullptr;
  std::vector<std::string> words_;  // the parsed command line, with the present names of options
};

}  // namespace attn::cli
