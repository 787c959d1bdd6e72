// The options of a command. CLI11, which parses them, is known in this folder alone: it takes seconds to compile.
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

/// An option that was added, for what more is to be said of it. Each function gives the option itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  /// Numbers that it takes.
  Option above_zero() const;
  Option not_negative() const;
  Option between(int from, int to) const;
  Option between(double from, double to) const;
  /// All that it takes.
  Option one_of(const std::vector<std::string>& words) const;
  /// So many words follow it.
  Option words(int count) const;
  /// Its value is a list with commas: "cpu,cuda".
  Option list() const;
  /// May be given again, with one value each time.
  Option repeatable() const;
  /// No ATTN_* variable gives its default (options/environment.h).
  Option without_variable() const;
  /// Makes no sense without the other.
  Option needs(const Option& other) const;

 private:
  CLI::Option* option_;
};

/// A file or folder that an option names for a result.
struct OutputPath {
  std::string path;
  bool is_folder = false;
};

/// Where a command declares its options. `names` are those of CLI11: "-o,--output"; without dashes the option is known
/// by its place. `kind` is what help calls a value; the kinds of numbers are N, SEED, R, A, S and SHARE
/// (options/plain_numbers.h).
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  /// Writes the value that is given into `value`, which outlives the parsing: a text, a number, an optional of one, or
  /// a list of texts.
  template <typename Value>
  Option add(const std::string& names, Value& value, const std::string& kind, const std::string& description);

  /// The same for a text that names a file the command writes, or a folder where `kind` is FOLDER or DIR. Such paths
  /// are checked before the command starts to work.
  template <typename Value>
  Option output(const std::string& names, Value& value, const std::string& kind, const std::string& description);

  Option flag(const std::string& names, bool& value, const std::string& description);
  /// Calls `given` where the flag is given.
  Option flag(const std::string& names, std::function<void()> given, const std::string& description);

  /// Has `take` read the text that is given; it throws Error (usage) for one that it does not take.
  Option parsed(const std::string& names, const std::function<void(const std::string&)>& take, const std::string& kind,
                const std::string& description);

  /// A word for each value of an enumeration.
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

  /// Calls `then` when all of the command line was read.
  void when_parsed(std::function<void()> then);

  /// The program that the command belongs to.
  [[nodiscard]] Program program() const;

  /// The outputs of a command line that was parsed.
  using Outputs = std::function<std::vector<OutputPath>()>;
  [[nodiscard]] Outputs outputs() const;

 private:
  CLI::App& app_;
  std::vector<std::function<std::optional<OutputPath>()>> outputs_;
};

}  // namespace attn::cli
