#include "options/synonyms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "attn/base/text.h"
#include "options/synonym_table.h"

namespace attn::cli {
namespace {

std::vector<std::string> long_options(const CommandSpec& command) {
  std::vector<std::string> out;
  for (const OptionSpec& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) out.push_back(name);
  return out;
}

const OptionSpec* option_of(const CommandSpec& command, std::string_view name) {
  for (const OptionSpec& option : command.options)
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  return nullptr;
}

/// Returns whether the command has the option of `meant`, and the option accepts the value after it: "--dtype int8".
bool takes(const CommandSpec& command, std::string_view meant) {
  const auto space = meant.find(' ');
  const OptionSpec* option = option_of(command, meant.substr(0, space));
  if (option == nullptr || space == std::string_view::npos || option->choices.empty()) return option != nullptr;
  return std::find(option->choices.begin(), option->choices.end(), meant.substr(space + 1)) != option->choices.end();
}

bool ends_in(std::string_view word, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return word.ends_with(ending); });
}

constexpr auto kWeights = std::to_array<std::string_view>({".weights.h5", ".weights.json"});
constexpr auto kArrays = std::to_array<std::string_view>({".npz", ".npy", ".safetensors", ".csv", ".txt", ".json"});
constexpr auto kResults = std::to_array<std::string_view>({".html", ".svg", ".png", ".md", ".dot", ".onnx", ".keras"});

}  // namespace

std::string meant_option(std::string_view word, const CommandSpec& command) {
  const std::string name = as_written_here(word);
  const bool short_of_a_dash = name.size() > 2 && !name.starts_with("--");
  const std::string whole = short_of_a_dash ? "-" + name : name;
  for (const Synonym& synonym : option_synonyms())
    if (synonym.word == whole && takes(command, synonym.meant))
      return did_you_mean_one_of({std::string(synonym.meant)});
  const std::vector<std::string> known = long_options(command);
  if (std::find(known.begin(), known.end(), whole) != known.end()) return did_you_mean_one_of({whole});
  constexpr std::size_t kLeast = 5;  // "--" and three letters
  if (const auto longer = with_prefix(whole, known, kLeast); !longer.empty()) return did_you_mean_one_of(longer);
  return did_you_mean((short_of_a_dash ? "-" : "") + std::string(word), std::span<const std::string>(known));
}

std::string meant_argument(std::string_view word, const CommandSpec& command) {
  const auto first_of = [&](std::initializer_list<std::string_view> options) -> std::string {
    for (const std::string_view option : options)
      if (option_of(command, option) != nullptr) return fmt::format("{} {}", option, word);
    return "";
  };
  std::string meant;
  if (ends_in(word, kWeights)) meant = first_of({"--weights"});
  if (meant.empty() && ends_in(word, kArrays))
    meant = first_of({"--input", "--data", "--prompts", "--texts", "--expect"});
  if (meant.empty() && ends_in(word, kResults)) meant = first_of({"--output"});
  if (meant.empty()) {
    for (const std::string_view option : {"--prompt", "--text"})
      if (option_of(command, option) != nullptr) meant = fmt::format("{} '{}'", option, shortened(word));
  }
  return meant.empty() ? "" : fmt::format("; did you mean {}?", printable(meant));
}

}  // namespace attn::cli
