// The options of a command. Only this folder includes CLI11 (the parser), because it takes seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options/option_tree.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attn::cli {

/// A group of options in the help, in the order of the help. The title is that of option_groups().
enum class OptionGroup {
  main,
  input,
  model,
  loss,
  layers,
  checkpoints,
  result,
  execution,
  files,
  ranks,
  common,
};

/// An option, with functions that restrict or describe it. Each returns the option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  /// Restricts a number.
  Option above_zero() const;
  Option not_negative() const;
  Option between(int from, int to) const;
  Option between(double from, double to) const;
  /// Lists all accepted values.
  Option one_of(const std::vector<std::string>& words) const;
  /// Sets the number of words that follow the option.
  Option words(int count) const;
  /// Declares the value as a list with commas: "cpu,cuda".
  Option list() const;
  /// Allows the option several times, with one value each.
  Option repeatable() const;
  /// Excludes the option from ATTN_* variables (options/environment.h).
  Option without_variable() const;
  /// Requires the other option.
  Option needs(const Option& other) const;

 private:
  CLI::Option* option_;
};

/// An output file or folder of an option.
struct OutputPath {
  std::string path;
  bool is_folder = false;
};

/// Declares the options of a command. `names` are those of CLI11: "-o,--output"; without dashes, a positional argument.
/// `kind` is the name of the value in the help. The kinds of numbers are N, SEED, R, A, S and SHARE
/// (options/plain_numbers.h).
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  /// Puts the options that are declared from now on into this group of the help, and returns the group before.
  OptionGroup group(OptionGroup group) { return std::exchange(group_, group); }

  /// Stores the value in `value`, which must outlive the parsing. It is a text, a number, an optional of either, or a
  /// list of texts.
  template <typename Value>
  Option add(const std::string& names, Value& value, const std::string& kind, const std::string& description);

  /// Stores the path of an output file in `value`, or of a folder if `kind` is FOLDER or DIR. Such paths are checked
  /// before the command starts its work.
  template <typename Value>
  Option output(const std::string& names, Value& value, const std::string& kind, const std::string& description);

  Option flag(const std::string& names, bool& value, const std::string& description);
  /// Calls `given` if the flag occurs.
  Option flag(const std::string& names, std::function<void()> given, const std::string& description);

  /// Passes the text to `take`, which throws Error (usage) for an invalid one.
  Option parsed(const std::string& names, const std::function<void(const std::string&)>& take, const std::string& kind,
                const std::string& description);

  /// Adds an option with a word for each value of an enumeration.
  template <typename Enum>
  Option choice(const std::string& names, Enum& value, const std::vector<std::pair<std::string, Enum>>& words,
                const std::string& kind, const std::string& description) {
    std::vector<std::string> known;
    for (const auto& [word, meaning] : words) known.push_back(word);
    const auto take = [&value, words](const std::string& given) {
      for (const auto& [word, meaning] : words)
        if (word == given) value = meaning;
    };
    return parsed(names, take, kind, description).one_of(known);
  }

  /// Calls `then` after the whole command line has been read.
  void when_parsed(std::function<void()> then);

  /// Returns the program that the command belongs to.
  [[nodiscard]] Program program() const;

  /// Returns the outputs of a parsed command line.
  using Outputs = std::function<std::vector<OutputPath>()>;
  [[nodiscard]] Outputs outputs() const;
  /// Returns the names of the input files of a parsed command line: the values of options and arguments of the kinds
  /// FILE and MODEL that are not outputs. A value may be NAME=FILE.
  using Inputs = std::function<std::vector<std::string>()>;
  [[nodiscard]] Inputs inputs() const;

 private:
  /// Puts the option into the present group.
  Option grouped(CLI::Option* option) const;

  CLI::App& app_;
  OptionGroup group_ = OptionGroup::main;
  std::vector<const CLI::Option*> output_options_;
  std::vector<std::function<std::optional<OutputPath>()>> outputs_;
};

/// While it lives, options are declared in this group of the help. Functions that declare options for several commands
/// use it.
class OptionGroupGuard {
 public:
  OptionGroupGuard(Options& options, OptionGroup group) : options_(options), before_(options.group(group)) {}
  ~OptionGroupGuard() { options_.group(before_); }
  OptionGroupGuard(const OptionGroupGuard&) = delete;
  OptionGroupGuard& operator=(const OptionGroupGuard&) = delete;

 private:
  Options& options_;
  OptionGroup before_;
};

}  // namespace attn::cli
