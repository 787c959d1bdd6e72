#include "config/json.h"

#include <cmath>
#include <unordered_set>

#include "attn/base/json_fault.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "attn/keras/json_text.h"
#include "attn/keras/options.h"
#include "config/python_numbers.h"

namespace attn::keras {
namespace {

constexpr int kNumberOverflow = 406;            // an exception id of nlohmann::json
constexpr const char* kTupleKey = "\x01tuple";  // no file can contain this key, because control characters are rejected

/// Builds the JSON tree, and rejects content that is not allowed in a config. Positions are those of the input
/// iterator.
class GuardedBuilder : public nlohmann::json_sax<Json> {
 public:
  GuardedBuilder(const std::string& source, const SourceText& text, Json& root, const std::size_t& read)
      : source_(source), text_(text), root_(root), read_(read) {}

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      refuse("an integer of 2^63 or more");
    return add(Json(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& literal) override {
    if (literal.find_first_of(".eE") == string_t::npos) refuse("an integer that 64 bits do not hold");
    return add(Json(value));
  }
  bool string(string_t& value) override {
    if (const auto number = number_ending_at(text_.text(), here())) return add(Json(*number));
    if (value.size() > kMaxJsonString) refuse("a string of over 1 MiB");
    return add(Json(std::move(value)));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (number_ending_at(text_.text(), here())) fail(here(), "not valid JSON: a number in place of a key");
    if (value.size() > kMaxJsonKey) refuse("a key of over 1 KiB");
    if (keys_.back().size() == kMaxJsonKeys) refuse("an object of over 10,000 keys");
    if (!keys_.back().insert(value).second)
      fail(here(), fmt::format("the key '{}' occurs twice in one object", printable(value)));
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The parser's message repeats the number, which can be very long.
    if (error.id == kNumberOverflow)
      fail(position == 0 ? 0 : position - 1, "not valid JSON: a number that exceeds the range of double");
    std::string what = error.what();
    if (const auto at = what.rfind("; "); at != std::string::npos && what.find("last read", at) == std::string::npos)
      what = what.substr(at + 2);
    if (const auto colon = what.find(": "); what.rfind("[json", 0) == 0 && colon != std::string::npos) {
      const auto second = what.find(": ", colon + 2);
      what = what.substr(second == std::string::npos ? colon + 2 : second + 2);
    }
    const std::size_t offset = position == 0 ? 0 : position - 1;
    if (const std::string fault = json_fault(text_.text(), offset); !fault.empty()) what = fault;
    fail(offset, "not valid JSON: " + shortened(what));
  }

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    const Position at = text_.position(offset);
    throw ConfigError({false, source_, static_cast<int>(at.line), static_cast<int>(at.column), "", message});
  }
  [[nodiscard]] std::size_t here() const { return read_ == 0 ? 0 : read_ - 1; }
  [[noreturn]] void refuse(const std::string& what) const { fail(here(), what + " is not accepted"); }

  Json* place(Json value) {
    if (++tokens_ > kMaxJsonTokens) refuse("a file of over 2,000,000 values");
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // Keys are known to be unique here. ordered_json's operator[] would search linearly.
    auto& object = parent.get_ref<Json::object_t&>();
    object.Json::object_t::Container::emplace_back(std::move(key_), std::move(value));
    return &object.back().second;
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json empty) {
    if (open_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) refuse("nesting deeper than 64");
    open_.push_back(place(std::move(empty)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::string& source_;
  const SourceText& text_;
  Json& root_;
  const std::size_t& read_;
  std::vector<Json*> open_;  // the pointers stay valid, because only the innermost container grows
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
  std::size_t tokens_ = 0;
};

/// An input iterator over bytes that counts its position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at_ == b.at_; }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

/// Formats a number as Python's json does.
std::string json_text(const Json& number) {
  if (!number.is_number_float()) return number.dump();
  const auto value = number.get<double>();
  const auto name = non_finite_name(value);
  return name ? std::string(*name) : python_repr(value);
}

std::string escaped(std::string_view token) {
  std::string out;
  for (const char c : token) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Document::Document(const std::string& source, std::string content, const ClassTable* layers)
    : source_(printable(source)), text_(std::make_shared<const SourceText>(std::move(content))), layers_(layers) {
  const std::string& text = text_->text();
  if (text.size() > kMaxConfigBytes) throw bad_input("{}: a config of over 64 MiB is not accepted", source_);
  // The parser treats a null character as the end of its input.
  if (const std::size_t null = text.find('\0'); null != std::string::npos) {
    const Position at = text_->position(null);
    throw ConfigError({false, source_, static_cast<int>(at.line), static_cast<int>(at.column), "",
                       "not valid JSON: a null character"});
  }
  std::size_t read = 0;
  GuardedBuilder builder(source_, *text_, root_, read);
  const std::optional<std::string> quoted = with_quoted_numbers(text);
  const std::string& parsed = quoted ? *quoted : text;
  Json::sax_parse(CountingIterator(parsed.data(), &read), CountingIterator(parsed.data() + parsed.size(), &read),
                  &builder);
}

std::shared_ptr<const StoredQuantization> Document::stored_at(const std::string& pointer) const {
  const auto found = stored_.find(pointer);
  return found == stored_.end() ? nullptr : found->second;
}

const ClassTable& Document::layers() const {
  if (layers_ == nullptr) throw internal_error("{} is read without a table of layers", source_);
  return *layers_;
}

Problem Document::problem(const std::string& translated, bool at_key, std::string message) const {
  if (text_ == nullptr) return {false, source_, 0, 0, printable(translated), std::move(message)};
  std::string pointer = translated;
  for (std::size_t end = translated.size();; end = translated.rfind('/', end - 1)) {
    if (const auto origin = origins_.find(translated.substr(0, end)); origin != origins_.end()) {
      pointer = origin->second + translated.substr(end);
      break;
    }
    if (end == 0 || end == std::string::npos) break;
  }
  std::string found = pointer;
  const Position at = text_->position(text_->find(found, at_key));
  if (!origins_.empty()) pointer = found;  // the translation has keys that are not in the file
  return {
      false, source_, static_cast<int>(at.line), static_cast<int>(at.column), printable(pointer), std::move(message)};
}

std::string Document::foreign_keys() const {
  constexpr std::size_t kListed = 5;
  if (foreign_keys_.empty()) return "";
  std::vector<std::string> keys;
  for (const std::string& pointer : foreign_keys_) {
    if (keys.size() == kListed) break;
    keys.push_back(printable(pointer));
  }
  const std::size_t rest = foreign_keys_.size() - keys.size();
  return fmt::format("{}: keys of other Keras versions are ignored: {}{}", source_, join(keys, ", "),
                     rest > 0 ? fmt::format(" and {} more", rest) : "");
}

Ref Ref::operator[](std::string_view key) const {
  if (auto member = find(key)) return *member;
  fail(fmt::format("the key '{}' is missing", key));
}

std::optional<Ref> Ref::find(std::string_view key) const {
  expect_object();
  const auto it = json_->find(key);
  if (it == json_->end()) return std::nullopt;
  return Ref(document_, &*it, pointer_ + "/" + escaped(key));
}

Ref Ref::operator[](std::size_t index) const {
  expect_array();
  if (index >= json_->size()) fail(fmt::format("expected at least {} elements, got {}", index + 1, json_->size()));
  return {document_, &(*json_)[index], pointer_ + "/" + std::to_string(index)};
}

std::vector<Ref> Ref::elements() const {
  expect_array();
  std::vector<Ref> out;
  out.reserve(json_->size());
  for (std::size_t i = 0; i < json_->size(); ++i) out.push_back((*this)[i]);
  return out;
}

std::vector<std::pair<std::string, Ref>> Ref::members() const {
  expect_object();
  std::vector<std::pair<std::string, Ref>> out;
  out.reserve(json_->size());
  for (auto it = json_->begin(); it != json_->end(); ++it)
    out.emplace_back(it.key(), Ref(document_, &*it, pointer_ + "/" + escaped(it.key())));
  return out;
}

std::string Ref::kind() const {
  switch (json_->type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return json_->get<bool>() ? "true" : "false";
    case Json::value_t::string: {
      constexpr std::size_t kMost = 40;
      return "\"" + shortened(json_->get_ref<const std::string&>(), kMost) + "\"";
    }
    case Json::value_t::array:
      return "a list";
    case Json::value_t::object:
      return "an object";
    default:
      return json_text(*json_);
  }
}

bool Ref::boolean() const {
  if (!json_->is_boolean()) fail("expected true or false, got " + kind());
  return json_->get<bool>();
}

std::int64_t Ref::integer() const {
  if (!json_->is_number_integer()) fail("expected an integer, got " + kind());
  return json_->get<std::int64_t>();
}

std::int64_t Ref::integer_from(std::int64_t lowest) const {
  if (!json_->is_number_integer() || integer() < lowest || integer() > kMaxSize)
    fail(fmt::format("expected an integer {} {}, got {}", lowest == 1 ? ">" : "≥", lowest == 1 ? 0 : lowest, kind()));
  return integer();
}

double Ref::number() const {
  if (!json_->is_number()) fail("expected a number, got " + kind());
  const auto value = json_->get<double>();
  if (!std::isfinite(value)) fail("expected a finite number, got " + kind());
  return value;
}

const std::string& Ref::text() const {
  if (!json_->is_string()) fail("expected a string, got " + kind());
  return json_->get_ref<const std::string&>();
}

void Ref::expect_dimensions() const {
  if (!json_->is_array()) fail("expected a list of dimensions, got " + kind());
  if (size() > kMostDimensions) fail(fmt::format("more than {} dimensions are not accepted", kMostDimensions));
}

Shape Ref::shape() const {
  expect_dimensions();
  Shape shape;
  for (const Ref& dim : elements()) shape.push_back(dim.is_null() ? kUnknown : dim.integer_from(0));
  return shape;
}

void Ref::expect_object() const {
  if (!json_->is_object()) fail("expected an object, got " + kind());
}

void Ref::expect_array() const {
  if (!json_->is_array()) fail("expected a list, got " + kind());
}

Json python_tuple(Json list) { return Json::object({{kTupleKey, std::move(list)}}); }

namespace {
bool is_tuple(const Json& json) { return json.is_object() && json.size() == 1 && json.begin().key() == kTupleKey; }

std::string ascii_string(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

void write_json(const Json& json, int indent, int level, std::string& out) {
  const auto line = [&](int depth) {
    if (indent > 0) out += "\n" + std::string(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
  };
  const char* separator = indent > 0 ? "," : ", ";
  if (is_tuple(json)) return write_json(json.front(), indent, level, out);
  if (json.is_object() || json.is_array()) {
    out += json.is_object() ? '{' : '[';
    bool first = true;
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (!first) out += separator;
      first = false;
      line(level + 1);
      if (json.is_object()) out += ascii_string(it.key()) + ": ";
      write_json(*it, indent, level + 1, out);
    }
    if (!first) line(level);
    out += json.is_object() ? '}' : ']';
  } else if (json.is_string()) {
    out += ascii_string(json.get_ref<const std::string&>());
  } else if (json.is_number()) {
    out += json_text(json);
  } else {
    out += json.dump();
  }
}

void write_python(const Json& json, std::string& out) {
  const auto items = [&](const Json& list) {
    bool first = true;
    for (const Json& item : list) {
      if (!first) out += ", ";
      first = false;
      write_python(item, out);
    }
  };
  if (is_tuple(json)) {
    out += '(';
    items(json.front());
    out += json.front().size() == 1 ? ",)" : ")";
  } else if (json.is_object()) {
    out += '{';
    bool first = true;
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (!first) out += ", ";
      first = false;
      out += python_repr(std::string_view(it.key())) + ": ";
      write_python(*it, out);
    }
    out += '}';
  } else if (json.is_array()) {
    out += '[';
    items(json);
    out += ']';
  } else if (json.is_string()) {
    out += python_repr(std::string_view(json.get_ref<const std::string&>()));
  } else if (json.is_null()) {
    out += "None";
  } else if (json.is_boolean()) {
    out += json.get<bool>() ? "True" : "False";
  } else if (json.is_number_float()) {
    out += python_repr(json.get<double>());
  } else {
    out += json.dump();
  }
}
}  // namespace

Json parse_json_text(const std::string& text, const std::string& source) { return Document(source, text).root(); }

std::string write_json_text(const Json& json, int indent) { return to_json_text(json, indent); }

std::string to_json_text(const Json& json, int indent) {
  std::string out;
  write_json(json, indent, 0, out);
  return out;
}

std::string to_python_text(const Json& json) {
  std::string out;
  write_python(json, out);
  return out;
}

Json object_with_room(std::size_t members) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(members);
  return out;
}

}  // namespace attn::keras
