#include "image_processor.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::open {
namespace {

using nlohmann::json;

struct Size {
  std::int64_t height = 0, width = 0;
  bool is_shortest_edge = false;  ///< the image keeps its proportions, and the shorter side has this length
};

class Processor {
 public:
  Processor(const json& fields, const std::string& place) : fields_(fields), place_(place) {}

  [[nodiscard]] bool flag(const char* key, bool fallback) const {
    if (!has(key)) return fallback;
    if (!fields_[key].is_boolean()) throw bad_input("{}: '{}' must be true or false", place_, key);
    return fields_[key].get<bool>();
  }

  [[nodiscard]] double number(const char* key, double fallback) const {
    if (!has(key)) return fallback;
    if (!fields_[key].is_number()) throw bad_input("{}: '{}' must be a number", place_, key);
    return fields_[key].get<double>();
  }

  /// Returns a number for each channel.
  [[nodiscard]] std::array<double, 3> channels(const char* key) const {
    if (!has(key)) throw bad_input("{}: '{}' is missing", place_, key);
    const json& value = fields_[key];
    std::array<double, 3> out{};
    if (value.is_number()) {
      out.fill(value.get<double>());
      return out;
    }
    if (!value.is_array() || value.size() != out.size())
      throw bad_input("{}: '{}' must be a number, or one for each of three channels", place_, key);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!value[i].is_number()) throw bad_input("{}: '{}' must have three numbers", place_, key);
      out[i] = value[i].get<double>();
    }
    return out;
  }

  [[nodiscard]] Size size(const char* key) const {
    if (!has(key)) throw bad_input("{}: '{}' is missing", place_, key);
    const json& value = fields_[key];
    if (value.is_object() && value.contains("shortest_edge") && !value.contains("longest_edge")) {
      const std::int64_t edge = length(value["shortest_edge"], key);
      return {edge, edge, true};
    }
    if (value.is_object() && value.contains("height") && value.contains("width"))
      return {length(value["height"], key), length(value["width"], key)};
    if (value.is_number()) {
      const std::int64_t side = length(value, key);
      return {side, side};
    }
    throw bad_input("{}: '{}' must have a height and a width, or a shortest edge", place_, key);
  }

  [[nodiscard]] const char* interpolation() const {
    // The numbers of Pillow's filters.
    constexpr std::array<const char*, 4> kNames{"nearest", "lanczos3", "bilinear", "bicubic"};
    constexpr std::int64_t kBilinear = 2;
    const json given = has("resample") ? fields_["resample"] : json(kBilinear);
    if (!given.is_number_unsigned() || given.get<std::uint64_t>() >= kNames.size())
      throw bad_input("{}: 'resample' must be 0 (nearest), 1 (Lanczos), 2 (bilinear) or 3 (bicubic)", place_);
    return kNames.at(given.get<std::size_t>());
  }

 private:
  [[nodiscard]] bool has(const char* key) const { return fields_.contains(key) && !fields_[key].is_null(); }
  [[nodiscard]] std::int64_t length(const json& value, const char* key) const {
    constexpr std::int64_t kMost = 1 << 14;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > kMost)
      throw bad_input("{}: '{}' must have lengths from 1 to {}", place_, key, kMost);
    return value.get<std::int64_t>();
  }

  const json& fields_;
  const std::string& place_;
};

json layer(const char* module, const char* name, json config) {
  return {{"module", module}, {"class_name", name}, {"config", std::move(config)}};
}

}  // namespace

json converter_of_processor(const json& processor, const std::string& place) {
  if (!processor.is_object()) throw bad_input("{}: expected an object", place);
  const Processor given(processor, place);
  const double rescaled = given.flag("do_rescale", true) ? given.number("rescale_factor", 1.0 / 255.0) : 1.0;
  json scale = json::array(), offset = json::array();
  for (std::size_t i = 0; i < 3; ++i) {
    const bool normalizes = given.flag("do_normalize", true);
    const double mean = normalizes ? given.channels("image_mean")[i] : 0.0;
    const double deviation = normalizes ? given.channels("image_std")[i] : 1.0;
    if (deviation == 0.0) throw bad_input("{}: 'image_std' has a 0", place);
    scale.push_back(rescaled / deviation);
    offset.push_back(-mean / deviation);
  }
  json config = {{"scale", std::move(scale)}, {"offset", std::move(offset)}, {"crop_to_aspect_ratio", false}};
  const bool crops = given.flag("do_center_crop", false), resizes = given.flag("do_resize", true);
  const Size crop = crops ? given.size("crop_size") : Size{}, size = resizes ? given.size("size") : Size{};
  if (resizes) {
    if (size.is_shortest_edge && (!crops || crop.height > size.height || crop.width > size.width))
      throw bad_input("{}: a 'size' with a shortest edge needs a 'crop_size' that is at most as large", place);
    config["image_size"] = {size.height, size.width};
    config["crop_to_aspect_ratio"] = size.is_shortest_edge;
    config["interpolation"] = given.interpolation();
    config["antialias"] = true;
  }
  json converter = layer("keras_hub.layers", "ImageConverter", std::move(config));
  converter["registered_name"] = "keras_hub>ImageConverter";
  if (!crops || (resizes && crop.height == size.height && crop.width == size.width)) return converter;
  return layer("keras", "Sequential",
               {{"name", "image_processor"},
                {"layers",
                 {std::move(converter),
                  layer("keras.layers", "CenterCrop", {{"height", crop.height}, {"width", crop.width}})}}});
}

}  // namespace attn::open
