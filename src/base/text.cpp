#include "attn/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "unicode.h"

namespace attn {
namespace {

constexpr char32_t kZeroWidthJoiner = 0x200d;

bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
char to_lower(char c) noexcept { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), to_lower);
  return result;
}

/// Returns whether Python's `\w` matches the character; each byte of a code point beyond ASCII counts as a match.
bool is_word(char c) noexcept {
  return is_upper(c) || is_lower(c) || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

/// Returns the number of insertions, deletions, substitutions and swaps of neighbors from a to b (Damerau-Levenshtein;
/// swapped letters may be edited again).
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t most = a.size() + b.size();
  const std::size_t width = b.size() + 2;
  // Row and column 0 are sentinels that make a swap reaching beyond the words too expensive.
  std::vector<std::size_t> cells((a.size() + 2) * width, most);
  const auto cell = [&](std::size_t i, std::size_t j) -> std::size_t& { return cells[(i + 1) * width + j + 1]; };
  for (std::size_t i = 0; i <= a.size(); ++i) cell(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cell(0, j) = j;
  std::array<std::size_t, 256> last_in_a{};  // row of the last occurrence of each letter, from 1 on
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t last_in_b = 0;  // column of the last match of a[i - 1]
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t k = last_in_a[static_cast<unsigned char>(b[j - 1])];
      const std::size_t l = last_in_b;
      const bool same = a[i - 1] == b[j - 1];
      if (same) last_in_b = j;
      std::size_t least = std::min({cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + (same ? 0 : 1)});
      if (k > 0 && l > 0) least = std::min(least, cell(k - 1, l - 1) + (i - k - 1) + 1 + (j - l - 1));
      cell(i, j) = least;
    }
    last_in_a[static_cast<unsigned char>(a[i - 1])] = i;
  }
  return cell(a.size(), b.size());
}

/// Returns the number of letters shared at the beginning and end: among equally near names, users mean this one.
std::size_t shared_ends(std::string_view a, std::string_view b) {
  const auto first = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const auto last = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  return static_cast<std::size_t>(first + last);
}

std::string decimal_digits(UInt128 value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    if (!point) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (is_hidden(*point)) {
      result += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(*point));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return printable(text);
  // Cuts between two characters, not inside one.
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return printable(text.substr(0, end)) + "…";
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    if (!point) return false;
    text.remove_prefix(length);
  }
  return true;
}

int display_width(std::string_view text) noexcept {
  int width = 0;
  bool joined = false;
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    // A character after a joiner merges with the one before it, as in rich.
    if (!joined) width += point ? cells(*point) : 1;
    joined = !joined && point == kZeroWidthJoiner;
    text.remove_prefix(length);
  }
  return width;
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongest = 64;  // longer than any name that a person types; the work grows quadratically
  constexpr std::size_t kMost = 3;
  if (word.empty() || word.size() > kLongest || candidates.size() > kMostNames) return {};
  const std::string wanted = lower(word);
  std::vector<std::string> best;
  std::size_t best_distance = 0;
  std::size_t best_ends = 0;
  for (const std::string_view candidate : candidates) {
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    // Two typos would leave nothing recognizable of a three-letter word.
    const std::size_t allowed = longer < 4 ? 1 : std::max<std::size_t>(2, longer / 3);
    if (longer > kLongest || longer - shorter > allowed) continue;  // the distance is at least the difference in length
    const std::string name = lower(candidate);
    const std::size_t found = distance(wanted, name);
    if (found > allowed || found >= longer || (!best.empty() && found > best_distance)) continue;
    const std::size_t ends = shared_ends(wanted, name);
    if (!best.empty() && found == best_distance && ends < best_ends) continue;
    if (found != best_distance || ends != best_ends) best.clear();
    best_distance = found;
    best_ends = ends;
    const bool new_name = std::find(best.begin(), best.end(), candidate) == best.end();
    if (new_name && best.size() < kMost) best.emplace_back(candidate);
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::vector<std::string> best = nearest(word, candidates);
  if (best.empty()) return "";
  std::string names;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 < best.size() ? ", " : " or ";
    names += fmt::format("{}'{}'", before, printable(best[i]));
  }
  return fmt::format(" (did you mean {}?)", names);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  return did_you_mean(word, std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));

  // "-d.ddde±xx" → sign, digits, exponent of the first digit.
  const std::size_t e = shortest.find('e');
  const bool negative = shortest.front() == '-';
  std::string digits;
  for (const char c : shortest.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  int exponent = 0;
  const char* exponent_text = shortest.data() + e + (shortest[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent_text, end.ptr, exponent);

  std::string text = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {  // the range in which Python's repr uses exponents
    text += digits.substr(0, 1);
    if (digits.size() > 1) text += "." + digits.substr(1);
    return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return text + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return text + digits + std::string(whole - digits.size(), '0') + ".0";
  return text + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string python_repr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string result(1, quote);
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    const char c = text.front();
    if (!point) {
      result += fmt::format("\\udc{:02x}", static_cast<unsigned char>(c));  // readable by surrogateescape
    } else if (c == quote || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else if (is_python_printable(*point) && !is_hidden(*point)) {
      result += text.substr(0, length);
    } else if (*point < 0x100) {
      result += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(*point));
    } else if (*point < 0x10000) {
      result += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(*point));
    } else {
      result += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(*point));
    }
    text.remove_prefix(length);
  }
  return result + quote;
}

std::string with_commas(std::int64_t value) {
  // Unsigned, because the lowest number has no positive counterpart.
  const auto bits = static_cast<std::uint64_t>(value);
  const UInt128 magnitude = value < 0 ? std::uint64_t{0} - bits : bits;
  return (value < 0 ? "-" : "") + with_commas(magnitude);
}

std::string with_commas(UInt128 value) {
  std::string digits = decimal_digits(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string memory_size(UInt128 bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KB", "MB", "GB", "TB", "PB"};
  // Keras divides a size of 1024 PB or more once more, but still calls the result PB; attn prints the same.
  auto amount = static_cast<double>(bytes);
  std::string_view unit = kUnits.back();
  for (const std::string_view candidate : kUnits) {
    if (amount < 1024.0) {
      unit = candidate;
      break;
    }
    amount /= 1024.0;
  }
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), amount, std::chars_format::fixed, 2);
  return fmt::format("{} {}", std::string_view(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())), unit);
}

std::string snake_case(std::string_view class_name) {
  // The three substitutions of Keras's to_snake_case: drop \W, "(.)([A-Z][a-z]+)", "([a-z])([A-Z])".
  std::string name;
  std::copy_if(class_name.begin(), class_name.end(), std::back_inserter(name), is_word);

  std::string parted;
  for (std::size_t i = 0; i < name.size();) {
    parted += name[i++];
    if (i + 1 >= name.size() || !is_upper(name[i]) || !is_lower(name[i + 1])) continue;
    parted += '_';
    parted += name[i++];
    while (i < name.size() && is_lower(name[i])) parted += name[i++];
  }

  std::string result;
  for (std::size_t i = 0; i < parted.size(); ++i) {
    if (i > 0 && is_lower(parted[i - 1]) && is_upper(parted[i])) result += '_';
    result += to_lower(parted[i]);
  }
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace attn
