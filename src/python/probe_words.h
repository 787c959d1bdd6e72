// The arguments of a question about the inside of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/library/probe.h"
#include "attn/probe/measure.h"

namespace attn::python {

using probe::Id;
using Words = std::variant<std::string, std::vector<Id>>;  ///< a text, or token ids
using Word = std::variant<std::string, Id>;                ///< a token
using Maybe = std::optional<Words>;

/// Reads a prompt; `decoder` is the start of the output of an encoder-decoder. Throws Error.
[[nodiscard]] probe::Prompt prompt_of(const library::Probe& inside, const Words& words, const Maybe& decoder);
[[nodiscard]] std::vector<probe::Prompt> prompts_of(const library::Probe& inside, const std::vector<Words>& all,
                                                    const Maybe& decoder);
[[nodiscard]] Id token_of(const library::Probe& inside, const Word& word);
[[nodiscard]] std::optional<probe::Metric> metric_of(const library::Probe& inside, const std::optional<Word>& token,
                                                     const std::optional<Word>& versus);

/// Returns the value with a name.
template <typename Value>
Value choice(const char* field, const std::string& given, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == given) return value;
    names.push_back(name);
  }
  throw bad_usage("{} '{}': expected one of {}", field, printable(given), join(names, ", "));
}

}  // namespace attn::python
