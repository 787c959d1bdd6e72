#include "options/environment.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "attn/base/text.h"
#include "options/option_tree.h"

namespace attn::cli {
namespace {

bool given(const CLI::Option& option, const std::vector<std::string>& words) {
  const auto is_this = [&](const std::string& word) {
    const auto names = [&](const std::vector<std::string>& of, std::string_view dashes) {
      return std::any_of(of.begin(), of.end(), [&](const std::string& name) {
        const std::string whole = std::string(dashes) + name;
        return word == whole || word.starts_with(whole + (dashes.size() == 2 ? "=" : ""));
      });
    };
    return names(option.get_lnames(), "--") || (!word.starts_with("--") && names(option.get_snames(), "-"));
  };
  return std::any_of(words.begin(), words.end(), is_this);
}

/// Is it a choice of the same option elsewhere, and none here?
bool is_for_others(const CLI::App& program, const CLI::Option& option, const std::string& value) {
  const auto takes = [&](const CLI::Option& one) {
    const std::vector<std::string> choices = spec_of(one).choices;
    return std::find(choices.begin(), choices.end(), value) != choices.end();
  };
  if (spec_of(option).choices.empty() || takes(option)) return false;
  const auto commands = commands_of(program);
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const CLI::Option* other = same_option(*command, option.get_lnames().front());
    return other != nullptr && takes(*other);
  });
}

}  // namespace

void read_variables(const CLI::App& program, CLI::App& command) {
  for (CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    const std::string variable = variable_of(program, *option);
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value != nullptr && !is_for_others(program, *option, value)) option->envname(variable);
  }
}

std::string variable_behind(const CLI::Option& option, const std::vector<std::string>& words) {
  const std::string variable = option.get_envname();
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value == nullptr || *value == '\0' || given(option, words) ? "" : variable;
}

Error with_variable(const Error& error, const CLI::App& command, const std::vector<std::string>& words) {
  const std::string_view message = error.what();
  for (const CLI::Option* option : command.get_options()) {
    const std::string variable = variable_behind(*option, words);
    if (variable.empty()) continue;
    // Such a sentence names the option, its value or both.
    const std::string value = printable(std::getenv(variable.c_str()));
    const bool meant = message.find("--" + option->get_lnames().front()) != std::string_view::npos ||
                       (value.size() > 2 && message.find(value) != std::string_view::npos);
    if (meant) return {error.code(), fmt::format("{} ({}={})", message, variable, value)};
  }
  return error;
}

}  // namespace attn::cli
