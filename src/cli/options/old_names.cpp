#include "options/old_names.h"

#include <algorithm>
#include <array>

namespace attn::cli {
namespace {

struct OldName {
  std::string_view old, present;
};

/// If several rows have the same former name, the first one applies whose present option the command has. The last rows
/// are names that the value has in other commands.
constexpr auto kOldNames = std::to_array<OldName>({
    {"--batch", "--batch-size"},
    {"--beams", "--num-beams"},
    {"--alpha", "--penalty-alpha"},
    {"--checkpoint", "--recompute"},
    {"--diff", "--expect"},
    {"--wrt", "--match"},
    {"--inputs", "--input-gradients"},
    {"--length", "--seq-len"},
    {"--input", "--data"},
    {"--data", "--input"},
    {"--text", "--prompt"},
    {"--prompt", "--text"},
    {"--texts", "--prompts"},
    {"--prompts", "--texts"},
});

bool has(const CommandSpec& command, std::string_view name) {
  return std::ranges::any_of(command.options, [&](const OptionSpec& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
}

}  // namespace

std::vector<std::string> with_present_names(const CommandSpec& command, std::vector<std::string> words) {
  for (std::string& word : words) {
    if (word == "--") break;  // positional arguments follow
    const std::string name = word.substr(0, word.find('='));
    if (has(command, name)) continue;
    for (const OldName& known : kOldNames) {
      if (known.old != name || !has(command, known.present)) continue;
      word.replace(0, name.size(), known.present);
      break;
    }
  }
  return words;
}

std::string_view former_name(std::string_view name) {
  constexpr std::size_t kDashes = 2;
  for (const OldName& known : kOldNames)
    if (known.present.substr(kDashes) == name &&
        std::ranges::find(kOldNames, known.old, &OldName::present) == kOldNames.end())
      return known.old.substr(kDashes);
  return "";
}

}  // namespace attn::cli
