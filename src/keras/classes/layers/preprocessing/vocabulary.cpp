#include "classes/layers/preprocessing/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_set>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

constexpr const char* kFile = "vocabulary.txt";
constexpr const char* kWeights = "idf_weights";

/// Returns the lines as Python's str.splitlines does, without trailing empty ones.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    std::size_t end = 0, width = 0;
    for (; end < text.size() && width == 0; end += width == 0 ? 1 : 0) {
      const std::string_view rest = text.substr(end);
      const char c = rest.front();
      if (rest.starts_with("\r\n") || rest.starts_with("\xc2\x85")) {
        width = 2;
      } else if ((c >= '\n' && c <= '\r') || (c >= '\x1c' && c <= '\x1e')) {
        width = 1;
      } else if (rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9")) {
        width = 3;
      }
    }
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + width);
  }
  while (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

/// Parses an integer in a line like Python's int(), and returns its shortest form.
std::string integer_in(const std::string& line, std::size_t number) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || end != line.data() + line.size())
    throw bad_input("line {}: expected an integer, got '{}'", number, shortened(line));
  return std::to_string(value);
}

}  // namespace

void Vocabulary::list(Fields& f) {
  if (!f.reading()) {
    f.put("vocabulary", json_);
    return;
  }
  const auto given = f.take("vocabulary");
  if (!given || given->is_null()) return;
  if (given->is_string()) given->fail("a vocabulary's path or URL is never opened; give the list of its terms");
  // NumPy arrays are objects that contain the list.
  const Ref list = given->is_object() ? (*given)["config"]["value"] : *given;
  list.expect_array();
  json_ = list.json();
}

void Vocabulary::weights(Fields& f) {
  if (!f.reading()) {
    f.put(kWeights, idf_json_);
    return;
  }
  const auto given = f.take(kWeights);
  if (!given || given->is_null()) return;
  const Ref list = given->is_object() ? (*given)["config"]["value"] : *given;
  list.expect_array();
  idf_json_ = list.json();
}

void Vocabulary::size(Fields& f, const Rules& rules, std::optional<std::int64_t> unknown) {
  if (f.reading()) {
    f("vocabulary_size", size_);
    return;
  }
  const auto own = terms_ ? std::optional(rules.first() + static_cast<std::int64_t>(terms_->size())) : size_;
  f.put("vocabulary_size", own ? Json(*own) : unknown ? Json(*unknown) : Json());
}

void Vocabulary::settle(const Rules& rules, const Ref& config) {
  if (size_ && *size_ < 0) config["vocabulary_size"].fail("expected an integer from 0 on");
  if (rules.others < 0) config["num_oov_indices"].fail("expected an integer from 0 on");
  if (rules.most && *rules.most <= 1) config["max_tokens"].fail("expected an integer above 1, or null");
  if (rules.pads && !rules.most) config["pad_to_max_tokens"].fail("'max_tokens' is needed to pad to");
  if (json_.is_null()) return;
  const Ref list = config["vocabulary"].is_object() ? config["vocabulary"]["config"]["value"] : config["vocabulary"];
  std::vector<std::string> given;
  for (const Ref& term : list.elements())
    given.push_back(rules.integers ? std::to_string(term.integer()) : std::string(term.text()));
  std::vector<double> idf;
  if (!idf_json_.is_null()) {
    const Ref weights = config[kWeights].is_object() ? config[kWeights]["config"]["value"] : config[kWeights];
    if (!rules.weighs) weights.fail("only the output_mode 'tf_idf' weighs terms");
    for (const Ref& weight : weights.elements()) idf.push_back(weight.number());
    if (idf.size() != given.size())
      weights.fail(fmt::format("{} weights are given for {} terms", idf.size(), given.size()));
  }
  try {
    accept(std::move(given), idf, rules);
  } catch (const Error& error) {
    list.fail(error.what());
  }
}

void Vocabulary::accept(std::vector<std::string> given, const std::vector<double>& idf, const Rules& rules) {
  if (given.empty()) throw bad_input("a vocabulary cannot be empty");
  const auto first = static_cast<std::size_t>(rules.first()), others = static_cast<std::size_t>(rules.first_other());
  bool names_others = given.size() >= first;
  for (std::size_t i = 0; i < first && names_others; ++i)
    names_others = given[i] == (i < others ? *rules.mask : rules.other);
  if (names_others) given.erase(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(first));
  std::unordered_set<std::string_view> met;
  for (const std::string& term : given) {
    if (!met.insert(term).second) throw bad_input("the term '{}' occurs twice in the vocabulary", shortened(term));
    const bool is_mask = rules.mask && term == *rules.mask;
    if (is_mask || (rules.invert && term == rules.other))
      throw bad_input("the {} token '{}' is among the terms; it must precede them, or be omitted",
                      is_mask ? "mask" : "OOV", shortened(term));
  }
  const std::int64_t size = rules.first() + static_cast<std::int64_t>(given.size());
  if (rules.most && size > *rules.most)
    throw bad_input("the vocabulary has {} indices, but 'max_tokens' allows only {}", size, *rules.most);
  if (rules.in_rows && !rules.pads && size_ && *size_ != size)
    throw bad_input("the vocabulary has {} indices, but the layer was built with {}", size, *size_);
  if (!idf.empty()) {
    idf_.clear();
    if (!names_others)
      idf_.assign(first, std::accumulate(idf.begin(), idf.end(), 0.0) / static_cast<double>(idf.size()));
    idf_.insert(idf_.end(), idf.begin(), idf.end());
    if (rules.pads) idf_.resize(static_cast<std::size_t>(*rules.most), 0.0);
  }
  terms_ = std::move(given);
}

void Vocabulary::take(const Rules& rules, const Assets& assets) {
  if (terms_) return;
  const auto text = assets.text(kFile);
  if (!text) return;
  const std::string place = assets.place + kFile;
  if (!is_utf8(*text)) throw bad_input("{}: not UTF-8", place);
  try {
    std::vector<std::string> lines = lines_of(*text);
    if (rules.integers)
      for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = integer_in(lines[i], i + 1);
    accept(std::move(lines), {}, rules);
  } catch (const Error& error) {
    throw bad_input("{}: {}", place, error.what());
  }
  if (!rules.weighs) return;
  const auto weights = assets.array(kWeights);
  if (!weights) return;
  const auto wanted = static_cast<Dim>(*depth(rules));
  if (weights->shape() != Shape{wanted})
    throw bad_input("{}{}: expected the shape {}, found {}", assets.place, kWeights, Shape{wanted}.str(),
                    weights->shape().str());
  for (std::int64_t i = 0; i < weights->size(); ++i) idf_.push_back(weights->at(i));
}

void Vocabulary::state(const Rules& rules) {
  if (!terms_ || !json_.is_null()) return;
  json_ = Json::array();
  for (std::int64_t i = 0; i < rules.first(); ++i) {
    const std::string& special = i < rules.first_other() ? *rules.mask : rules.other;
    json_.push_back(rules.integers ? Json(std::stoll(special)) : Json(special));
  }
  for (const std::string& term : *terms_) json_.push_back(rules.integers ? Json(std::stoll(term)) : Json(term));
  if (!idf_.empty())
    idf_json_ = std::vector<double>(idf_.begin(), idf_.begin() + static_cast<std::ptrdiff_t>(json_.size()));
}

std::optional<std::int64_t> Vocabulary::depth(const Rules& rules) const {
  if (rules.pads) return rules.most;
  if (terms_) return rules.first() + static_cast<std::int64_t>(terms_->size());
  return size_;
}

text::Lookup Vocabulary::lookup(const Rules& rules, std::optional<text::Salt> salt) const {
  text::Lookup out;
  out.first = rules.first();
  out.others = rules.others;
  out.mask = rules.mask;
  out.other_name = rules.other;
  out.salt = salt;
  if (!terms_) return out;
  out.terms = *terms_;
  for (std::size_t i = 0; i < terms_->size(); ++i) out.places.emplace((*terms_)[i], static_cast<std::int64_t>(i));
  return out;
}

std::string Vocabulary::missing() const {
  return terms_ ? ""
                : "its vocabulary is missing: a config does not contain the result of adapt(); open the .keras file";
}

Tensor Vocabulary::idf_tensor() const {
  Tensor out(DType::float32, {static_cast<Dim>(idf_.size())});
  for (std::size_t i = 0; i < idf_.size(); ++i) out.set(static_cast<std::int64_t>(i), idf_[i]);
  return out;
}

std::vector<NamedTensor> Vocabulary::arrays() const {
  if (idf_.empty()) return {};
  return {{kWeights, idf_tensor()}};
}

graph::ValueId Vocabulary::weighed(graph::Builder& b, graph::ValueId counts, bool symbolic) const {
  if (idf_.empty() && symbolic) return counts;
  if (idf_.empty()) throw bad_input("the weights of its terms ('idf_weights') are missing; open the .keras file");
  return b.binary(graph::BinaryFn::multiply, counts, b.constant(idf_tensor()));
}

std::optional<text::Salt> read_salt(const Json& json, const Ref& config) {
  if (json.is_null()) return std::nullopt;
  const Ref salt = config["salt"];
  const auto key = [](const Ref& ref) { return static_cast<std::uint64_t>(ref.integer()); };
  if (salt.is_integer()) return text::Salt{key(salt), key(salt)};
  if (!salt.is_array() || salt.size() != 2) salt.fail("expected an integer or a list of two, got " + salt.kind());
  return text::Salt{key(salt[0]), key(salt[1])};
}

}  // namespace attn::keras
