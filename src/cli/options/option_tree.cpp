#include "options/option_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "options/synonym_table.h"

namespace attn::cli {
namespace {

constexpr std::string_view kMapBegin = "value in {";  // CLI11's description of a choice of named values

/// Returns the words of CLI11's "{a,b}" or "value in {a->1,b->2} OR {1,2}"; empty for another description.
std::vector<std::string> choices_in(std::string_view description) {
  const bool map = description.starts_with(kMapBegin);
  if (!map && !description.starts_with('{')) return {};
  description.remove_prefix(map ? kMapBegin.size() : 1);
  std::vector<std::string> choices = split(description.substr(0, description.find('}')), ',');
  for (std::string& choice : choices) choice.resize(std::min(choice.size(), choice.find("->")));
  return choices;
}

/// Returns CLI11's description of a range of numbers in words; "" for any other description.
std::string limits_in(std::string_view description) {
  if (description == "POSITIVE") return "a number above 0";
  if (description == "NONNEGATIVE") return "a number that is not below 0";
  const auto range = description.find(" in [");
  if (range == std::string_view::npos) return "";
  const std::string_view ends = description.substr(range + 5);
  const auto dash = ends.find(" - ");
  return fmt::format("a number from {} to {}", ends.substr(0, dash), ends.substr(dash + 3, ends.find(']') - dash - 3));
}

/// Returns whether an environment variable can set this option.
bool takes_one_value(const CLI::Option& option) {
  return !option.get_lnames().empty() && option.get_type_size() == 1 && option.get_items_expected_min() >= 1 &&
         option.get_configurable() && !names_a_file(option.get_type_name());
}

constexpr auto kGroups = std::to_array<std::string_view>({"Options", "Input", "Model", "Loss and optimizer", "Layers",
                                                          "Checkpoints and logs", "Result", "Execution", "Many files",
                                                          "Several processes", "Common options"});

}  // namespace

std::span<const std::string_view> option_groups() { return kGroups; }

bool names_a_file(std::string_view kind) {
  return kind.find("FILE") != std::string_view::npos || kind.find("MODEL") != std::string_view::npos;
}

std::string OptionSpec::title() const { return names.empty() ? kind : names.back(); }

std::string CommandSpec::usage() const {
  if (name.empty()) return "attn [--version] [--help] COMMAND";
  std::string line = "attn " + name;
  for (const OptionSpec& option : options) {
    if (!option.positional()) continue;
    const std::string place = option.value + (option.repeated ? "…" : "");
    line += option.required ? " " + place : " [" + place + "]";
  }
  for (const OptionSpec& option : options)
    if (!option.positional() && option.required) line += fmt::format(" {} {}", option.title(), option.value);
  return line + " [options]";
}

OptionSpec spec_of(const CLI::Option& option) {
  OptionSpec out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.description = option.get_description();
  out.group = option.get_group();
  out.required = option.get_required();
  out.repeated = option.get_items_expected_max() > 1 && option.get_expected_max() > 1;
  if (option.get_type_size() == 0) return out;
  const std::string type = option.get_type_name();
  auto colon = type.find(':');
  if (colon != std::string::npos && type.substr(0, colon).ends_with('['))
    colon = type.find(':', type.find(']'));  // FILE[:SCALE]
  out.kind = out.value = type.substr(0, colon);
  if (colon == std::string::npos) return out;
  const std::string_view description = std::string_view(type).substr(colon + 1);
  out.choices = choices_in(description);
  out.limits = limits_in(description);
  if (!out.choices.empty()) out.value = "{" + join(out.choices, ",") + "}";
  return out;
}

CommandSpec spec_of(const CLI::App& command) {
  CommandSpec out{command.get_parent() == nullptr ? "" : command.get_name(), command.get_description(), {}};
  for (const CLI::Option* option : command.get_options()) {
    out.options.push_back(spec_of(*option));
    if (command.get_parent() != nullptr) out.options.back().variable = variable_of(*command.get_parent(), *option);
  }
  return out;
}

const CLI::Option* same_option(const CLI::App& command, const std::string& long_name) {
  return command.get_option_no_throw("--" + long_name);
}

std::string variable_of(const CLI::App& program, const CLI::Option& option) {
  if (!takes_one_value(option)) return "";
  const std::string& name = option.get_lnames().front();
  const auto commands = commands_of(program);
  const auto sharing = std::count_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const CLI::Option* other = same_option(*command, name);
    return other != nullptr && takes_one_value(*other);
  });
  if (sharing < 2) return "";
  return variable_named(name);
}

std::string variable_named(std::string_view name) {
  std::string variable = "ATTN_";
  for (const char c : name) variable += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return variable;
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App& command_named(const CLI::App& program, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program)) {
    if (command->get_name() == name) return *command;
    names.push_back(command->get_name());
  }
  throw bad_usage("unknown command '{}'{}; see attn --help", printable(name), meant_command(name, names));
}

CommandSpec Program::spec() const { return spec_of(*app_); }

std::vector<CommandSpec> Program::commands() const {
  std::vector<CommandSpec> out;
  for (const CLI::App* command : commands_of(*app_)) out.push_back(spec_of(*command));
  return out;
}

CommandSpec Program::command(const std::string& name) const { return spec_of(command_named(*app_, name)); }

}  // namespace attn::cli
