#include "config/fields.h"

#include <algorithm>

#include "attn/base/text.h"
#include "attn/base/whole_number.h"
#include "config/built_in.h"

namespace attn::keras {

namespace {

/// Returns whether a value is empty: null, false, or an empty text, list or object. A number never is.
bool is_empty(const Json& json) {
  return json.is_null() || json == false || (json.is_string() && json.get_ref<const std::string&>().empty()) ||
         (json.is_structured() && json.empty());
}

}  // namespace

void Fields::check_keys() const {
  const auto in = [](const std::vector<std::string>& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  const Document& document = config_->document();
  const bool newer = document.keras_version() > kNewest;
  for (const auto& [key, value] : config_->json().items()) {
    if (in(known_, key) || in(ignored_, key)) continue;
    const Ref member = (*config_)[key];
    if (in(foreign_, key) || (newer && is_empty(member.json()))) {
      document.note_foreign_key(member.pointer());
      continue;
    }
    std::string message = "unknown key";
    if (newer)
      message = fmt::format(
          "unknown key in a file of Keras {}; attn supports Keras up to {}, and the key may change the result; if it "
          "does not, remove it",
          version_text(document.keras_version()), version_text(kNewest));
    message += did_you_mean(key, std::span<const std::string>(known_));
    document.attempt([&] { member.fail_key(message); });
  }
  for (const std::string& key : missing_) document.attempt([&] { config_->fail("the key '" + key + "' is missing"); });
}

void Fields::read(const Ref& ref, Number& value) {
  value = ref.number();
  value.integral = ref.is_integer() && whole_number(value);  // others are written as they are computed with
}

void Fields::read(const Ref& ref, Tuple& value) {
  value.items.clear();
  if (ref.is_integer()) {
    value.items.push_back(ref.integer());
    return;
  }
  if (!ref.is_array()) ref.fail("expected an integer or a list of integers, got " + ref.kind());
  for (const Ref& item : ref.elements()) value.items.push_back(item.integer());
}

void Fields::read(const Ref& ref, Window& value) {
  const std::size_t rank = value.items.size();
  if (ref.is_integer()) {
    value.items.assign(rank, ref.integer_from(1));
    return;
  }
  if (!ref.is_array() || ref.size() != rank)
    ref.fail(fmt::format("expected an integer > 0 or a list of {}, got {}", rank, ref.kind()));
  for (std::size_t i = 0; i < rank; ++i) value.items[i] = ref[i].integer_from(1);
}

void Fields::read(const Ref& ref, Axes& value) {
  if (ref.is_integer()) {
    value = ref.integer();
    return;
  }
  if (!ref.is_array() || ref.size() == 0) ref.fail("expected an integer or a list of integers, got " + ref.kind());
  std::vector<std::int64_t> axes;
  for (const Ref& item : ref.elements()) axes.push_back(item.integer());
  value = std::move(axes);
}

void Fields::read(const Ref& ref, Choice& value) {
  const std::string& text = ref.text();
  if (std::find(value.allowed.begin(), value.allowed.end(), text) == value.allowed.end()) {
    std::vector<std::string> words(value.allowed.begin(), value.allowed.end());
    ref.fail(fmt::format("expected one of {}, got '{}'", join(words, ", "), printable(text)));
  }
  value.value = text;
}

void Fields::read(const Ref& ref, Opaque& value) {
  check_inert(ref);
  value.json = ref.json();
}

void Fields::read(const Ref& ref, Regularizer& value) { value.json = regularizer(ref); }

void Fields::read(const Ref& ref, Constraint& value) { value.json = constraint(ref); }

void Fields::read(const Ref& ref, DType& value) {
  const auto dtype = dtype_of(ref.text());
  if (!dtype) ref.fail(fmt::format("unknown dtype '{}'", printable(ref.text())));
  value = *dtype;
}

Json Fields::write(const DType& value) const { return std::string(name_of(value)); }

Json Fields::write(const Number& value) const {
  return value.integral ? Json(static_cast<std::int64_t>(value.value)) : Json(value.value);
}

Json Fields::write(const Axes& value) const {
  return std::visit([](const auto& axes) { return Json(axes); }, value);
}

Json Fields::write(const Initializer& value) const {
  Json json = value.json;
  if (!json.is_object() || !json.contains("config") || !json["config"].is_object()) return json;
  Json& config = json["config"];
  if (version_ < kEinsumFans) {
    for (const char* axes : {"input_axes", "output_axes"})
      if (config.contains(axes) && !config[axes].is_null())
        throw bad_input("'{}': an initializer's {} are in Keras since {}, so they cannot be written for {}",
                        printable((*out_)["name"].get<std::string>()), axes, version_text(kEinsumFans),
                        version_text(version_));
    config.erase("input_axes");
    config.erase("output_axes");
  }
  if (version_ < 307 && (json["class_name"] == "Orthogonal" || json["class_name"] == "Identity"))
    json["class_name"] = json["class_name"].get<std::string>() + "Initializer";
  if (version_ < 306 && config.contains("seed")) {  // before Keras 3.6, the seed was the last key
    const Json seed = config["seed"];
    config.erase("seed");
    config["seed"] = seed;
  }
  return json;
}

Json Fields::write(const DTypePolicy& value) const { return version_ < 304 ? Json(value.name) : value.json(); }

Json Fields::write(const Activation& value) const {
  if (value.json == kKeras2HardSigmoid)
    throw bad_input("'{}': Keras 3 has no activation like Keras 2's hard_sigmoid, max(0, min(1, x/5 + 1/2))",
                    printable((*out_)["name"].get<std::string>()));
  if (value.json.is_string()) {
    const auto& name = value.json.get_ref<const std::string&>();
    if (const Version since = Activation::since(name); version_ < since)
      throw bad_input("'{}': the activation '{}' is in Keras since {}, so it cannot be written for {}",
                      printable((*out_)["name"].get<std::string>()), name, version_text(since), version_text(version_));
  }
  return value.json;
}

Json Fields::write(const Shape& value) const {
  Json out = Json::array();
  for (const Dim dim : value) out.push_back(dim == kUnknown ? Json() : Json(dim));
  return python_tuple(std::move(out));
}

}  // namespace attn::keras
