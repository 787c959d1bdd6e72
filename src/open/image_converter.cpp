#include "attn/open/image_converter.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/image.h"
#include "attn/io/json_text.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "preset_converter.h"

namespace attn::open {
namespace {

const Silent kIgnored{};

/// Returns pixels as float32, with the channels first if asked.
Tensor floats_of(const Tensor& pixels, bool channels_first) {
  const Dim height = pixels.shape()[0], width = pixels.shape()[1];
  Tensor out(DType::float32, channels_first ? Shape{1, 3, height, width} : Shape{1, height, width, 3});
  const std::uint8_t* const from = pixels.as<std::uint8_t>().data();
  float* const to = out.as<float>().data();
  for (Dim at = 0; at < height * width; ++at)
    for (Dim c = 0; c < 3; ++c) to[channels_first ? c * height * width + at : 3 * at + c] = from[3 * at + c];
  return out;
}

/// Returns a copy as float32, or of integers as int32.
Tensor copied(const Tensor& result, const Shape& shape) {
  const DType dtype = is_floating(result.dtype()) ? DType::float32 : DType::int32;
  const Tensor numbers = result.cast(dtype);
  Tensor out(dtype, shape);
  std::memcpy(out.data(), numbers.data(), static_cast<std::size_t>(numbers.bytes()));
  return out;
}

}  // namespace

ImageConverter::ImageConverter(std::string source, std::string config)
    : source_(std::move(source)), config_(std::move(config)) {
  const nlohmann::json json = io::parse_json(config_, printable(source_));
  const auto has = [](const nlohmann::json& object, const char* key) {
    return object.is_object() && object.contains(key);
  };
  if (!has(json, "class_name") || !json["class_name"].is_string() || !has(json, "config"))
    throw bad_input("{}: expected an object with 'class_name' and 'config'", printable(source_));
  if (const auto name = json["class_name"].get<std::string>(); !name.ends_with("ImageConverter"))
    throw bad_input("{}: expected an ImageConverter of KerasHub, got '{}'", printable(source_), printable(name));
  channels_first_ = has(json["config"], "data_format") && json["config"]["data_format"] == "channels_first";
}

void ImageConverter::prepare(const Shape& size, const Execution& execution) {
  if (session_ && prepared_ == size) return;
  session_.reset();
  keras::ReadOptions options;
  options.input_shape = size;
  const LoadedModel layer = load_model(ModelText{source_, config_, options, {}}, ReadingOptions{}, kIgnored);
  keras::LowerOptions lower;
  lower.batch = 1;
  graph::Graph graph = layer.model.lower(lower);
  Execution here;
  here.threads = execution.threads;
  here.memory_limit = execution.memory_limit;
  dtype_ = graph.value(graph.inputs.front()).dtype;
  const auto backend = open_backend(here.device, here.backend, kIgnored);
  require_memory(layer, lower, graph, *backend, here);
  session_.emplace(prepare_session(*backend, std::move(graph), {}, here.compile_options(), kIgnored));
  prepared_ = size;
}

std::vector<NamedTensor> ImageConverter::run(const Tensor& pixels, const Execution& execution) {
  const Dim height = pixels.shape()[0], width = pixels.shape()[1];
  prepare(channels_first_ ? Shape{3, height, width} : Shape{height, width, 3}, execution);
  const std::vector<Tensor> inputs{floats_of(pixels, channels_first_).cast(dtype_)};
  session_->run(inputs);
  return session_->outputs();
}

Tensor ImageConverter::convert(const Tensor& pixels, const Execution& execution) {
  const std::vector<NamedTensor> results = run(pixels, execution);
  if (results.size() != 1)
    throw bad_input("{}: the converter divides an image into patches, which only attn generate reads",
                    printable(source_));
  const Shape shape = results.front().tensor.shape();
  return copied(results.front().tensor, {shape[1], shape[2], shape[3]});
}

ImagePatches ImageConverter::patches(const Tensor& pixels, const Execution& execution) {
  const std::vector<NamedTensor> results = run(pixels, execution);
  const auto find = [&](std::string_view name) -> const Tensor* {
    const auto found = std::ranges::find(results, name, &NamedTensor::name);
    return found == results.end() ? nullptr : &found->tensor;
  };
  // KerasHub's converters give either a grid, or positions with a batch of one image.
  if (const Tensor* grid = find("grid_thw"), *patches = find("patches"); grid != nullptr && patches != nullptr)
    return {copied(*patches, patches->shape()), std::nullopt,
            keras::PatchGrid{static_cast<std::int64_t>(grid->at(1)), static_cast<std::int64_t>(grid->at(2))}};
  const auto without_batch = [](const Tensor& tensor) {
    return copied(tensor, tensor.shape().slice(1, tensor.shape().rank()));
  };
  if (const Tensor* positions = find("pixel_position_ids"), *patches = find("pixel_values");
      positions != nullptr && patches != nullptr)
    return {without_batch(*patches), without_batch(*positions), std::nullopt};
  throw bad_input("{}: the model needs a converter that cuts images into patches", printable(source_));
}

std::optional<ImageConverter> image_converter_of(const LoadedModel& loaded) {
  auto found = converter_of(loaded, "image_converter");
  if (!found) return std::nullopt;
  return ImageConverter(std::move(found->source), std::move(found->config));
}

namespace {

/// Returns the model's converter for the input `input`. Throws Error (bad_input) if there is none.
ImageConverter required_converter(const LoadedModel& loaded, const std::string& input) {
  auto converter = image_converter_of(loaded);
  if (!converter)
    throw bad_input(
        "{}: the model has no ImageConverter, which `images` needs to know the scale of the pixels; give the array of "
        "'{}' by `inputs`",
        loaded.file, printable(input));
  return std::move(*converter);
}

/// Reads images, and adds black margins at the right and at the bottom of smaller ones.
std::vector<Tensor> read_padded(const std::vector<std::string>& files) {
  std::vector<Tensor> images;
  Dim height = 0, width = 0;
  for (const std::string& file : files) {
    images.push_back(io::read_image(file));
    height = std::max(height, images.back().shape()[0]);
    width = std::max(width, images.back().shape()[1]);
    if (height > io::kMaxImagePixels / width)
      throw bad_input("{}: images of {} by {} pixels, the common size of all, are too large", printable(file), height,
                      width);
  }
  for (Tensor& image : images) {
    const Tensor padded(DType::uint8, {height, width, 3});
    const std::int64_t row = image.shape()[1] * 3;
    for (Dim y = 0; y < image.shape()[0]; ++y)
      std::memcpy(padded.data() + y * width * 3, image.data() + y * row, static_cast<std::size_t>(row));
    image = padded;
  }
  return images;
}

}  // namespace

std::vector<ImagePatches> convert_patches(const LoadedModel& loaded, const std::vector<std::string>& files, bool padded,
                                          const Execution& execution, const Listener& listener) {
  ImageConverter converter = required_converter(loaded, "pixel_values");
  const std::unique_ptr<Work> work = listener.begin("reading images", static_cast<double>(files.size()));
  std::vector<Tensor> images;
  if (padded) images = read_padded(files);
  std::vector<ImagePatches> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.push_back(converter.patches(padded ? images[i] : io::read_image(files[i]), execution));
    work->advance();
  }
  return out;
}

std::vector<Tensor> convert_images(const LoadedModel& loaded, const std::vector<std::string>& files,
                                   const std::string& input, const Shape& image, const Execution& execution,
                                   const Listener& listener) {
  ImageConverter converter = required_converter(loaded, input);
  const std::unique_ptr<Work> work = listener.begin("reading images", static_cast<double>(files.size()));
  std::vector<Tensor> rows;
  for (const std::string& file : files) {
    rows.push_back(converter.convert(io::read_image(file), execution));
    const Shape& made = rows.back().shape();
    for (int axis = 0; axis < made.rank(); ++axis)
      if (image[axis] != kUnknown && image[axis] != made[axis])
        throw bad_input("{}: the model's ImageConverter gives {}, but the input '{}' takes images {}", printable(file),
                        made.str(), printable(input), image.str());
    if (made != rows.front().shape())
      throw bad_input(
          "{}: the image is {} and {} is {} after the model's ImageConverter, which does not resize; the "
          "images of a batch must have one size",
          printable(file), made.str(), printable(files.front()), rows.front().shape().str());
    work->advance();
  }
  return rows;
}

}  // namespace attn::open
