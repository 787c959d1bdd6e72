#include "arguments/range_list.h"

#include <charconv>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {
namespace {

constexpr std::size_t kMostSizes = 1000;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;

class Parser {
 public:
  Parser(const std::string& option, const std::string& text) : option_(option), text_(text), rest_(text) {}

  std::vector<std::int64_t> list() {
    std::vector<std::int64_t> sizes;
    do {
      const std::int64_t first = number();
      if (!take('-')) {
        add(sizes, first);
        continue;
      }
      const std::int64_t last = number();
      if (last < first) fail();
      const bool times = take('*');
      const std::int64_t step = times || take('+') ? number() : 1;
      if (times && step < 2) fail();
      for (std::int64_t size = first; size <= last; size = times ? size * step : size + step) add(sizes, size);
    } while (take(','));
    if (!rest_.empty()) fail();
    return sizes;
  }

 private:
  [[noreturn]] void fail() const {
    throw bad_usage("{} {}: expected sizes such as 1,8 or 128-4096*2 or 128-512+128, at most {} of them", option_,
                    printable(text_), kMostSizes);
  }

  void add(std::vector<std::int64_t>& sizes, std::int64_t size) const {
    if (sizes.size() == kMostSizes) fail();
    sizes.push_back(size);
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 1 || value > kMostSize) fail();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  const std::string& option_;
  const std::string& text_;
  std::string_view rest_;
};

}  // namespace

std::vector<std::int64_t> parse_range_list(const std::string& option, const std::string& text) {
  return Parser(option, text).list();
}

}  // namespace attn::cli
