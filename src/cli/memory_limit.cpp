#include "memory_limit.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"

namespace attn::cli {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits = {Unit{"", 1},         Unit{"b", 1},        Unit{"kb", 1e3},     Unit{"mb", 1e6},
                               Unit{"gb", 1e9},     Unit{"tb", 1e12},    Unit{"kib", 1024.0}, Unit{"mib", 1048576.0},
                               Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}, Unit{"k", 1024.0},   Unit{"m", 1048576.0},
                               Unit{"g", 0x1p30},   Unit{"t", 0x1p40}};

}  // namespace

std::int64_t parse_bytes(std::string_view option, const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  std::string unit(end, word.data() + word.size());
  std::erase(unit, ' ');
  for (char& letter : unit) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const Unit& known : kUnits) {
    if (error != std::errc() || unit != known.name) continue;
    const double bytes = number * known.bytes;
    if (!(bytes >= 0) || bytes > static_cast<double>(kMaxSize)) break;
    return static_cast<std::int64_t>(bytes);
  }
  throw bad_usage("{} {}: expected a size, as in 2GB, 512MiB or 1000000", option, printable(word));
}

run::MemoryLimit memory_limit(const std::optional<std::string>& word) {
  if (!word) return run::memory_limit(std::nullopt);
  return run::memory_limit(parse_bytes("--mem-limit", *word), "--mem-limit");
}

}  // namespace attn::cli
