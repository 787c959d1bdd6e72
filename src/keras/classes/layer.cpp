#include "classes/layer.h"

#include <array>

#include "attn/base/text.h"
#include "classes/placed_error.h"

namespace attn::keras {

void Layer::config(Fields& f) {
  f("name", name);
  if (!is_operation()) {
    f("trainable", trainable);
    f("dtype", policy);
    if (!f.reading() && !activity_regularizer.is_null()) f.put("activity_regularizer", activity_regularizer);
  }
  fields(f);
}

std::span<const std::string_view> Layer::arguments() const {
  static constexpr std::array<std::string_view, 1> kInputs = {"inputs"};
  return kInputs;
}

std::string_view Layer::class_name() const {
  if (const auto own = envelope.find("class_name"); own != envelope.end()) return own->get_ref<const std::string&>();
  return info->shown.empty() ? info->name : info->shown;
}

void Layer::fail(const std::string& message, const char* field) const {
  const std::string text = fmt::format("{} '{}': {}", class_name(), printable(name), message);
  Problem problem;
  problem.message = text;
  PlacedError error(document == nullptr ? problem : document->error(pointer, false, text).problem());
  error.about(field);
  throw error;
}

}  // namespace attn::keras
