#include "options/environment.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "attn/base/text.h"
#include "options/field_names.h"
#include "options/old_names.h"
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

/// Returns whether the value is valid only for the same option of other commands.
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
    std::string variable = variable_of(program, *option);
    if (variable.empty()) continue;
    const char* value = std::getenv(variable.c_str());
    if (const std::string_view former = former_name(option->get_lnames().front());
        value == nullptr && !former.empty()) {
      variable = variable_named(former);
      value = std::getenv(variable.c_str());
    }
    if (value != nullptr && !is_for_others(program, *option, value)) option->envname(variable);
  }
}

std::string variable_behind(const CLI::Option& option, const std::vector<std::string>& words) {
  const std::string variable = option.get_envname();
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value == nullptr || *value == '\0' || given(option, words) ? "" : variable;
}

namespace {

/// Returns the option for a field of attn::OpenOptions or attn::RunOptions. Null if the command has no such option with
/// a value, and for "inputs", whose name is part of the message.
const CLI::Option* option_of(std::string_view field, const CLI::App& command) {
  if (field.empty() || field == "inputs") return nullptr;
  const CLI::Option* option = same_option(command, option_name(field).substr(2));
  return option == nullptr || option->get_type_size() == 0 ? nullptr : option;
}

std::string with_value(const std::string& variable) {
  return fmt::format("{}={}", variable, printable(std::getenv(variable.c_str())));
}

/// Returns whether the command uses its default model.
bool lacks_model(const CLI::App& command) {
  const CLI::Option* model = command.get_option_no_throw("model");
  return model != nullptr && model->count() == 0;
}

/// Returns the option that a variable has set and that the message names, directly or by its value; null if there is
/// none.
const CLI::Option* named_variable(std::string_view message, const CLI::App& command,
                                  const std::vector<std::string>& words) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string variable = variable_behind(*option, words);
    if (variable.empty()) continue;
    const std::string value = printable(std::getenv(variable.c_str()));
    const bool meant = message.find("--" + option->get_lnames().front()) != std::string_view::npos ||
                       (value.size() > 2 && message.find(value) != std::string_view::npos);
    if (meant) return option;
  }
  return nullptr;
}

}  // namespace

Error with_way_out(const Error& error, const CLI::App& command, const std::vector<std::string>& words) {
  const std::string message = with_option_names(error.what());
  if (std::string_view(error.field()) == "custom_class")
    return {error.code(), message + "; use `attn flatten-script` to replace it with built-in layers, in Python"};
  if (std::string_view(error.field()) == "metrics")
    return {error.code(), message + "; use --metrics for others, or --metrics none for the loss without metrics"};
  if (std::string_view(error.field()) == "inputs" && lacks_model(command))
    return {error.code(), message + "; without MODEL they are for the built-in encoder: give a MODEL"};
  if (const CLI::Option* option = option_of(error.field(), command)) {
    const OptionSpec spec = spec_of(*option);
    const std::string variable = variable_behind(*option, words);
    const std::string way_out = !variable.empty()       ? fmt::format(" ({})", with_value(variable))
                                : given(*option, words) ? fmt::format(" ({})", spec.title())
                                : spec.value.empty()    ? ""  // this command's option of the name is a switch
                                                        : fmt::format("; give {} {}", spec.title(), spec.value);
    return {error.code(), message + way_out};
  }
  const Error named(error.code(), message);
  if (error.code() != ExitCode::usage) return named;
  const CLI::Option* option = named_variable(message, command, words);
  if (option == nullptr) return named;
  return {error.code(), fmt::format("{} ({})", message, with_value(variable_behind(*option, words)))};
}

}  // namespace attn::cli
