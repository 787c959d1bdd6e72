#include "options/plain_numbers.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attn/base/parse_number.h"
#include "options/option_tree.h"

namespace attn::cli {
namespace {

/// Parses all of `text` as a number; nothing if it is not one.
template <typename Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<Number>(text);
}

// CLI11 requires an error text, but does not show it: usage.h makes the message from the option's limits.
constexpr const char* kRefused = "no such number";

template <typename Integer>
std::string take_whole(std::string& text) {
  const std::optional<Integer> number = parsed<Integer>(text);
  if (!number) return kRefused;
  text = std::to_string(*number);  // without leading zeros
  return "";
}

std::string take_finite(std::string& text) {
  const std::optional<double> number = parsed<double>(text);
  return number && std::isfinite(*number) ? "" : kRefused;
}

}  // namespace

void take_plain_numbers(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string kind = spec_of(*option).kind;
    if (kind == "N" || kind == "K") option->transform(CLI::Validator(take_whole<std::int64_t>, ""));
    if (kind == "SEED") option->transform(CLI::Validator(take_whole<std::uint64_t>, ""));
    if (kind == "R" || kind == "A" || kind == "S" || kind == "SHARE" || kind == "P" || kind == "T")
      option->transform(CLI::Validator(take_finite, ""));
  }
}

}  // namespace attn::cli
