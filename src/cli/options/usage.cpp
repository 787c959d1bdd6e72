#include "options/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "options/environment.h"
#include "options/option_tree.h"
#include "options/synonyms.h"

namespace attn::cli {
namespace {

constexpr std::size_t kLongestWord = 200;  // maximum length of a word that a message repeats

std::string in_quotes(std::string_view word) {
  const bool cut = word.size() > kLongestWord;
  return fmt::format("'{}{}'", printable(word.substr(0, kLongestWord)), cut ? "…" : "");
}

bool looks_like_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

/// Returns the message for a word that begins with a dash and is not an option.
std::string unknown_option(const CommandSpec& command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::string meant = meant_option(name, command);
  if (meant.empty()) meant = fmt::format("; see attn {}--help", command.name.empty() ? "" : command.name + " ");
  return fmt::format("unknown option {}{}", in_quotes(name), meant);
}

/// Returns whether the word is an option of commands that was given before the command.
bool is_of_a_command(const CLI::App& app, const std::string& word) {
  const auto commands = commands_of(app);
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_option_no_throw(word) != nullptr; });
}

/// Returns the message for superfluous words.
std::string too_many(const CommandSpec& command, const std::string& word) {
  std::vector<std::string> places;
  for (const OptionSpec& option : command.options)
    if (option.positional()) places.push_back(option.value);
  if (places.empty()) return fmt::format("attn {} takes no argument, got {}", command.name, in_quotes(word));
  return fmt::format("attn {} takes only {}, but got also {}{}", command.name, join(places, " and "), in_quotes(word),
                     meant_argument(word, command));
}

/// Returns the rejected value of an option: the last one, unless the message names an earlier value of a list.
std::string refused_value(const CLI::Option& option, const OptionSpec& spec) {
  for (const std::string& value : option.results())
    if (!spec.choices.empty() && std::find(spec.choices.begin(), spec.choices.end(), value) == spec.choices.end())
      return value;
  return option.results().empty() ? "" : option.results().back();
}

/// Returns whether an option of this kind takes only whole numbers.
bool is_whole(std::string_view kind) { return kind == "N" || kind == "K"; }

std::string expectation(const OptionSpec& spec, const std::string& value) {
  if (!spec.choices.empty()) {
    const std::string meant = did_you_mean(value, std::span<const std::string>(spec.choices));
    return fmt::format("expected {}{}", join(spec.choices, ", "), meant);
  }
  const auto number = parse_number<double>(value);
  if (spec.kind == "SEED") return "expected a whole number from 0 to 2^64 - 1";
  // If every number is in range, the rejected value has a fraction, or too many digits for the type.
  const bool has_fraction = value.find_first_of(".e") != std::string::npos;
  if (number && !has_fraction && *number >= 2147483648.0 && is_whole(spec.kind)) return "expected a smaller number";
  if (number && is_whole(spec.kind) && (spec.limits.empty() || has_fraction)) return "expected a whole number";
  return "expected " + (spec.limits.empty() ? std::string("a number") : spec.limits);
}

/// Returns the option at the beginning of CLI11's message: "--batch-size: …".
const CLI::Option* blamed(const CLI::App& command, const std::string& message) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const auto at = message.find(name);
    if (at == std::string::npos || name.empty()) continue;
    const std::size_t after = at + name.size();
    const bool whole = after == message.size() || message[after] == ':' || message[after] == ' ';
    const bool begins = at == 0 || message.compare(0, at, "Could not convert: ") == 0;
    if (whole && begins) return option;
  }
  return nullptr;
}

std::string sentence(const CommandSpec& command, const CLI::App& app, const CLI::ParseError& found,
                     const std::vector<std::string>& words) {
  const std::vector<std::string> rest = app.remaining();
  const auto unknown = std::find_if(rest.begin(), rest.end(), looks_like_option);
  if (unknown != rest.end() && is_of_a_command(app, *unknown))
    return fmt::format("{} must follow the command, as in attn summary {}", in_quotes(*unknown), printable(*unknown));
  if (unknown != rest.end()) return unknown_option(command, *unknown);
  if (!rest.empty()) return too_many(command, rest.front());

  const CLI::Option* option = blamed(app, found.what());
  if (option == nullptr) return printable(found.what());
  const OptionSpec spec = spec_of(*option);
  if (dynamic_cast<const CLI::RequiredError*>(&found) != nullptr)
    return fmt::format("{} is missing: {}", spec.positional() ? spec.value : spec.title() + " " + spec.value,
                       command.usage());
  const bool value = dynamic_cast<const CLI::ValidationError*>(&found) != nullptr ||
                     dynamic_cast<const CLI::ConversionError*>(&found) != nullptr;
  if (!value) {
    if (option->results().empty() && !spec.value.empty())
      return fmt::format("{} requires a value: {}", spec.title(), spec.value);
    if (option->results().size() > 1 && option->get_items_expected_max() == 1)
      return fmt::format("{} may be given only once, not {} times", spec.title(), option->results().size());
    return printable(found.what());
  }
  const std::string given = refused_value(*option, spec);
  const std::string variable = variable_behind(*option, words);
  return fmt::format("{} {}: {}", variable.empty() ? spec.title() : variable, in_quotes(given),
                     expectation(spec, given));
}

}  // namespace

Error usage_error(const CLI::App& program, const CLI::App* command, const CLI::ParseError& found,
                  const std::vector<std::string>& words) {
  const CLI::App& app = command == nullptr ? program : *command;
  return bad_usage("{}", sentence(spec_of(app), app, found, words));
}

}  // namespace attn::cli
