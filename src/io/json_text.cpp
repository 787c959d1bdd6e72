#include "attn/io/json_text.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/json_fault.h"
#include "attn/base/text.h"

namespace attn::io {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxKey = std::size_t{1} << 10;
constexpr std::size_t kMaxString = std::size_t{1} << 20;

/// Builds a tree from a text's events, within limits.
class Tree : public nlohmann::json_sax<json> {
 public:
  Tree(std::string_view text, const std::string& place, const JsonLimits& limits, std::span<const JsonTable> tables)
      : text_(text), place_(place), limits_(limits), tables_(tables) {}

  /// Returns the result, once all events have arrived.
  [[nodiscard]] json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& text) override {
    if (text.size() > kMaxString) throw bad_input("{}: a string of over 1 MiB is not accepted", place_);
    return add(std::move(text));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (key.size() > kMaxKey) throw bad_input("{}: a key of over 1 KiB is not accepted", place_);
    Level& level = open_.back();
    if (level.table == nullptr && !level.keys.insert(key).second)
      throw bad_input("{}: the key '{}' occurs twice in one object", place_, printable(key));
    level.key = std::move(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    const std::string fault = json_fault(text_, position == 0 ? 0 : position - 1);
    throw bad_input("{}: not valid JSON at its byte {}{}{}", place_, position, fault.empty() ? "" : ": ", fault);
  }

 private:
  /// An open object or array.
  struct Level {
    json value;
    const JsonTable* table = nullptr;      // the table that receives the members, or null
    std::size_t pointer = 0;               // length of pointer_ outside this level
    std::string key;                       // in an object, the key of the next member
    std::unordered_set<std::string> keys;  // keys seen so far, in an object that is not a table
  };

  bool count() {
    if (++values_ > limits_.values) throw bad_input("{}: more than {} values are not accepted", place_, limits_.values);
    return true;
  }
  bool add(json value) {
    count();
    put(std::move(value));
    return true;
  }
  void put(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Level& level = open_.back();
    if (level.table != nullptr) {
      level.table->take(level.key, value);
    } else if (level.value.is_object()) {
      level.value.emplace(std::move(level.key), std::move(value));
    } else {
      level.value.push_back(std::move(value));
    }
  }
  bool open(json value) {
    if (open_.size() == kMaxDepth) throw bad_input("{}: nesting deeper than {} is not accepted", place_, kMaxDepth);
    count();
    Level level{std::move(value), nullptr, pointer_.size(), {}, {}};
    if (!open_.empty()) pointer_ += "/" + open_.back().key;
    for (const JsonTable& table : tables_)
      if (table.pointer == pointer_) level.table = &table;
    open_.push_back(std::move(level));
    return true;
  }
  bool close() {
    pointer_.resize(open_.back().pointer);
    json value = std::move(open_.back().value);
    open_.pop_back();
    put(std::move(value));
    return true;
  }

  std::string_view text_;
  const std::string& place_;
  const JsonLimits& limits_;
  std::span<const JsonTable> tables_;
  json root_;
  std::vector<Level> open_;
  std::string pointer_;  // path of the innermost level
  std::size_t values_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& place, const JsonLimits& limits,
                std::span<const JsonTable> tables) {
  if (text.size() > limits.bytes) throw bad_input("{}: JSON of over {} MiB is not accepted", place, limits.bytes >> 20);
  // The parser would treat a null character as the end of its input.
  if (text.find('\0') != std::string_view::npos) throw bad_input("{}: not valid JSON: a null character", place);
  Tree tree(text, place, limits, tables);
  json::sax_parse(text.begin(), text.end(), &tree);
  return tree.take();
}

}  // namespace attn::io
