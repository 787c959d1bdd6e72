#include "attn/io/json_text.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 2'000'000;
constexpr std::size_t kMaxKey = std::size_t{1} << 10;
constexpr std::size_t kMaxString = std::size_t{1} << 20;

/// Looks at the events of a text before a tree is made of it.
class Guard : public nlohmann::json_sax<json> {
 public:
  explicit Guard(const std::string& place) : place_(place) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t& text) override {
    if (text.size() > kMaxString) throw bad_input("{}: a string of over 1 MiB is not accepted", place_);
    return value();
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (key.size() > kMaxKey) throw bad_input("{}: a key of over 1 KiB is not accepted", place_);
    if (!keys_.back().insert(key).second)
      throw bad_input("{}: the key '{}' stands twice in one object", place_, printable(key));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw bad_input("{}: not valid JSON at its byte {}", place_, position);
  }

 private:
  bool value() {
    if (++values_ > kMaxValues) throw bad_input("{}: more than {} values are not accepted", place_, kMaxValues);
    return true;
  }
  bool open() {
    if (keys_.size() == kMaxDepth) throw bad_input("{}: nesting deeper than {} is not accepted", place_, kMaxDepth);
    keys_.emplace_back();
    return value();
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::string& place_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects and arrays that are open
  std::size_t values_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& place) {
  if (text.size() > kMaxBytes) throw bad_input("{}: JSON of over 64 MiB is not accepted", place);
  // The parser takes a null character for the end of its input.
  if (text.find('\0') != std::string_view::npos) throw bad_input("{}: not valid JSON: a null character", place);
  Guard guard(place);
  json::sax_parse(text.begin(), text.end(), &guard);
  return json::parse(text.begin(), text.end());
}

}  // namespace attn::io
