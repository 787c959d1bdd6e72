#include "fields.h"

#include <algorithm>

#include "attn/base/text.h"
#include "layer.h"
#include "table.h"

namespace attn::keras {

void Fields::check_keys() const {
  for (const auto& [key, member] : config_->members()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (std::find(ignored_.begin(), ignored_.end(), key) != ignored_.end()) continue;
    member.fail_key("unknown key" + did_you_mean(key, std::span<const std::string>(known_)));
  }
  if (!missing_.empty()) config_->fail("the key '" + missing_.front() + "' is missing");
}

void Fields::read(const Ref& ref, Number& value) {
  value = ref.number();
  value.integral = ref.is_integer();
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
  if (ref.is_object()) {
    if (const auto class_name = ref.find("class_name");
        class_name && class_name->is_string() && (class_name->text() == "function" || class_name->text() == "Lambda"))
      class_name->fail("functions in a config are never run");
  }
  value.json = ref.json();
}

void Fields::read(const Ref& ref, LayerPtr& value) { value = read_layer(ref, *warnings_); }

Json Fields::write(const Number& value) const {
  return value.integral ? Json(static_cast<std::int64_t>(value.value)) : Json(value.value);
}

Json Fields::write(const Axes& value) const {
  return std::visit([](const auto& axes) { return Json(axes); }, value);
}

Json Fields::write(const Initializer& value) const {
  Json json = value.json;
  if (version_ < 315 && json.is_object() && json.contains("config")) {
    json["config"].erase("input_axes");
    json["config"].erase("output_axes");
  }
  if (version_ < 314 && json.is_object() && json["class_name"] == "Orthogonal")
    json["class_name"] = "OrthogonalInitializer";
  return json;
}

Json Fields::write(const Activation& value) const {
  if (value.json == kKeras2HardSigmoid)
    throw bad_input("'{}': Keras 3 has no activation like Keras 2's hard_sigmoid, max(0, min(1, x/5 + 1/2))",
                    printable((*out_)["name"].get<std::string>()));
  return value.json;
}

Json Fields::write(const LayerPtr& value) const { return value ? layer_json(*value, version_) : Json(); }

Json Fields::write(const Shape& value) const {
  Json out = Json::array();
  for (const Dim dim : value) out.push_back(dim == kUnknown ? Json() : Json(dim));
  return python_tuple(std::move(out));
}

}  // namespace attn::keras
