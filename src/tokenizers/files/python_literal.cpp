#include "python_literal.h"

#include <optional>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "text/characters.h"

namespace attn::tokenizers {
namespace {

/// Reads the inside of a literal, between its quotes.
class Literal {
 public:
  Literal(std::string_view inside, bool is_bytes, const std::string& place)
      : rest_(inside), is_bytes_(is_bytes), place_(place) {}

  std::string read() {
    while (!rest_.empty()) {
      const char next = take();
      if (next != '\\') {
        if (is_bytes_ && static_cast<unsigned char>(next) >= 0x80) fail("bytes outside of ASCII must be escaped");
        out_ += next;
        continue;
      }
      escape();
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw bad_input("{}: not a string as Python writes it: {}", place_, what);
  }
  char take() {
    if (rest_.empty()) fail("it ends in a backslash");
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }
  void add(char32_t point) {
    if (is_bytes_) {
      if (point > 0xff) fail("a byte has at most the value 255");
      out_ += static_cast<char>(point);
      return;
    }
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) fail("an escape is not a character");
    append(out_, point);
  }

  void escape() {
    constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char letter = take();
    if (letter == '\n') return;
    if (const std::size_t at = kLetters.find(letter); at != std::string_view::npos) {
      out_ += kMeanings[at];
    } else if (letter == 'x') {
      add(digits(2, 16));
    } else if (letter >= '0' && letter <= '7') {
      char32_t point = static_cast<char32_t>(letter - '0');
      for (int i = 0; i < 2 && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '7'; ++i)
        point = point * 8 + static_cast<char32_t>(take() - '0');
      add(point);
    } else if (!is_bytes_ && (letter == 'u' || letter == 'U')) {
      add(digits(letter == 'u' ? 4 : 8, 16));
    } else if (!is_bytes_ && letter == 'N') {
      fail("names of characters are not supported");
    } else {
      out_ += '\\';
      out_ += letter;
    }
  }
  /// Returns the number of exactly `count` digits.
  char32_t digits(int count, char32_t base) {
    char32_t number = 0;
    for (int i = 0; i < count; ++i) {
      const char digit = rest_.empty() ? '\0' : take();
      const std::size_t value = std::string_view("0123456789abcdef")
                                    .find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit);
      if (value == std::string_view::npos) fail("an escape has too few digits");
      number = number * base + static_cast<char32_t>(value);
    }
    return number;
  }

  std::string_view rest_;
  bool is_bytes_;
  const std::string& place_;
  std::string out_;
};

}  // namespace

std::string bytes_of_literal(std::string_view literal, const std::string& place) {
  const bool is_bytes = literal.starts_with('b') || literal.starts_with('B');
  if (is_bytes) literal.remove_prefix(1);
  const char quote = literal.size() < 2 ? '\0' : literal.front();
  if ((quote != '\'' && quote != '"') || literal.back() != quote)
    throw bad_input("{}: expected a string as Python writes it: 'text' or b'bytes'", place);
  const std::string_view inside = literal.substr(1, literal.size() - 2);
  // A quote inside must be escaped: an even number of backslashes before it ends the string.
  for (std::size_t at = inside.find(quote); at != std::string_view::npos; at = inside.find(quote, at + 1)) {
    std::size_t backslashes = 0;
    while (backslashes < at && inside[at - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) throw bad_input("{}: the string ends before the end of the entry", place);
  }
  return Literal(inside, is_bytes, place).read();
}

}  // namespace attn::tokenizers
