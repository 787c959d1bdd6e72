#include "attn/keras/version.h"

#include <fmt/format.h>

#include <charconv>

namespace attn::keras {

std::optional<Version> version_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || at == end || *at != '.') return std::nullopt;
  const auto rest = std::from_chars(at + 1, end, minor);
  if (rest.ec != std::errc() || (rest.ptr != end && *rest.ptr != '.' && *rest.ptr != '-')) return std::nullopt;
  if (major < 1 || major > 99 || minor < 0 || minor > 99) return std::nullopt;
  return 100 * major + minor;
}

std::string version_text(Version version) { return fmt::format("{}.{}", version / 100, version % 100); }

}  // namespace attn::keras
