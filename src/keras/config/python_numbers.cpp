#include "config/python_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace attn::keras {
namespace {

using Limits = std::numeric_limits<double>;
constexpr std::array<std::pair<std::string_view, double>, 3> kNumbers = {
    {{"-Infinity", -Limits::infinity()}, {"Infinity", Limits::infinity()}, {"NaN", Limits::quiet_NaN()}}};

/// Returns whether a value can begin or end next to this byte.
bool is_boundary(char c) { return std::string_view(",:[]{} \t\r\n").find(c) != std::string_view::npos; }

/// Returns the length of the NaN or infinity that begins at position `at`, or 0.
std::size_t length_at(std::string_view text, std::size_t at) {
  if (at > 0 && !is_boundary(text[at - 1])) return 0;
  for (const auto& [name, number] : kNumbers) {
    if (!text.substr(at).starts_with(name)) continue;
    const std::size_t end = at + name.size();
    return end == text.size() || is_boundary(text[end]) ? name.size() : 0;
  }
  return 0;
}

/// Returns the position after the string that begins at position `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

}  // namespace

std::optional<std::string> with_quoted_numbers(std::string_view text) {
  std::optional<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    at = text.find_first_of("\"-IN", at);
    if (at == std::string_view::npos) break;
    if (text[at] == '"') {
      at = end_of_string(text, at);
      continue;
    }
    const std::size_t length = length_at(text, at);
    if (length > 0) {
      if (!out) out.emplace(text);
      std::fill_n(out->begin() + static_cast<std::ptrdiff_t>(at), length, '.');
      (*out)[at] = (*out)[at + length - 1] = '"';
    }
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::optional<double> number_ending_at(std::string_view text, std::size_t last) {
  for (const auto& [name, number] : kNumbers)
    if (text.substr(0, last + 1).ends_with(name)) return number;
  return std::nullopt;
}

std::optional<std::string_view> non_finite_name(double number) {
  if (std::isfinite(number)) return std::nullopt;
  if (std::isnan(number)) return "NaN";
  return number > 0 ? "Infinity" : "-Infinity";
}

}  // namespace attn::keras
