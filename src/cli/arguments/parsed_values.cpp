#include "arguments/parsed_values.h"

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

keras::Version parse_version(const std::string& text) {
  if (const auto version = keras::version_of(text)) return *version;
  throw bad_usage("--keras-version {}: expected a version, as in 3.15", printable(text));
}

Shape parse_shape(const std::string& text, const char* option) {
  Shape shape;
  for (const std::string& part : split(text, ',')) {
    if (part == "None" || part == "null") {
      shape.push_back(kUnknown);
      continue;
    }
    if (part.empty() || part.size() > 15 || part.find_first_not_of("0123456789") != std::string::npos)
      throw bad_usage("{} {}: expected integers or None, as in 50,512", option, printable(text));
    shape.push_back(std::stoll(part));
  }
  return shape;
}

}  // namespace attn::cli
