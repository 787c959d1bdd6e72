#include "config/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

constexpr std::array<std::pair<QuantizationMode, std::string_view>, 5> kModes = {{{QuantizationMode::int8, "int8"},
                                                                                  {QuantizationMode::int4, "int4"},
                                                                                  {QuantizationMode::float8, "float8"},
                                                                                  {QuantizationMode::gptq, "gptq"},
                                                                                  {QuantizationMode::awq, "awq"}}};

std::optional<std::int64_t> integer_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a group size: −1 or a positive size.
bool take_group(const std::string& text, std::optional<Dim>& group) {
  const auto size = integer_of(text);
  if (!size || *size < -1 || *size == 0 || *size > kMaxSize) return false;
  group = *size == -1 ? std::nullopt : std::optional<Dim>(*size);
  return true;
}

}  // namespace

std::string_view name_of(QuantizationMode mode) {
  return std::ranges::find(kModes, mode, &std::pair<QuantizationMode, std::string_view>::first)->second;
}

std::optional<Quantization> Quantization::named(std::string_view name) {
  const std::vector<std::string> parts = split(name, '/');
  const auto* const found = std::ranges::find_if(kModes, [&](const auto& row) { return row.second == parts.front(); });
  if (found == kModes.end()) return std::nullopt;
  Quantization out;
  out.mode = found->first;
  switch (out.mode) {
    case QuantizationMode::int8:
    case QuantizationMode::float8:
      return parts.size() == 1 ? std::optional(out) : std::nullopt;
    case QuantizationMode::int4:
      out.bits = 4;
      out.names_group = parts.size() > 1;
      if (parts.size() > 2 || (parts.size() == 2 && !take_group(parts[1], out.group))) return std::nullopt;
      return out;
    case QuantizationMode::gptq:
    case QuantizationMode::awq: {
      if (parts.size() != 3 || !take_group(parts[2], out.group)) return std::nullopt;
      const auto bits = integer_of(parts[1]);
      const bool fits =
          bits && (*bits == 4 || (out.mode == QuantizationMode::gptq && (*bits == 2 || *bits == 3 || *bits == 8)));
      if (!fits) return std::nullopt;
      out.bits = static_cast<int>(*bits);
      return out;
    }
  }
  return std::nullopt;
}

std::string Quantization::name() const {
  std::string mode_name(name_of(mode));
  const std::string size = group ? std::to_string(*group) : "-1";
  switch (mode) {
    case QuantizationMode::int4:
      return names_group ? mode_name + "/" + size : mode_name;
    case QuantizationMode::gptq:
    case QuantizationMode::awq:
      return fmt::format("{}/{}/{}", mode_name, bits, size);
    default:
      return mode_name;
  }
}

std::string_view Quantization::policy_class() const {
  switch (mode) {
    case QuantizationMode::int4:
      return names_group ? "Int4DTypePolicy" : "QuantizedDTypePolicy";
    case QuantizationMode::float8:
      return "QuantizedFloat8DTypePolicy";
    case QuantizationMode::gptq:
      return "GPTQDTypePolicy";
    case QuantizationMode::awq:
      return "AWQDTypePolicy";
    case QuantizationMode::int8:
      break;
  }
  return "QuantizedDTypePolicy";
}

}  // namespace attn::keras
