// The program's words: which command they name, and its options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.h"

namespace attn::cli {

/// All commands and their options.
class CommandLine {
 public:
  enum class Asked { command, help, version };

  CommandLine();

  /// Throws Error (usage) for words that make no command.
  [[nodiscard]] Asked parse(const std::vector<std::string>& words);
  /// Runs the command that was parsed and gives its exit code.
  [[nodiscard]] int run(const std::vector<std::string>& words) const;

  /// The command that was named, or the program where none was.
  [[nodiscard]] const CLI::App& named() const noexcept { return chosen_ == nullptr ? app_ : *chosen_; }

 private:
  CLI::App app_;
  std::vector<std::pair<CLI::App*, Run>> commands_;
  CLI::App* chosen_ = nullptr;
};

}  // namespace attn::cli
