#include "attn/open/image_converter.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/image.h"
#include "attn/io/json_text.h"
#include "attn/open/folder_config.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "attn/plan/bytes.h"
#include "attn/run/memory.h"
#include "attn/run/session.h"
#include "image_processor.h"
#include "pixel_view.h"
#include "preset_converter.h"

namespace attn::open {
namespace {

const Silent kIgnored{};
constexpr const char* kProcessorFile = "preprocessor_config.json";

/// Returns a copy as float32, or of integers as int32.
Tensor copied(const Tensor& result, const Shape& shape) {
  return result.cast(is_floating(result.dtype()) ? DType::float32 : DType::int32).reshaped(shape);
}

/// Returns the image with black margins at the right and at the bottom.
Tensor padded(const Tensor& image, Dim height, Dim width) {
  if (image.shape()[0] == height && image.shape()[1] == width) return image;
  Tensor out(DType::uint8, {height, width, 3});
  const std::int64_t row = image.shape()[1] * 3;
  for (Dim y = 0; y < image.shape()[0]; ++y)
    std::memcpy(out.data() + y * width * 3, image.data() + y * row, static_cast<std::size_t>(row));
  return out;
}

}  // namespace

/// A conversion that was compiled for images of one size.
struct ImageConverter::Prepared {
  Dim height, width;
  std::int64_t bytes;  ///< bytes of the pixels and of copied results
  PixelView view;
  Tensor input;  ///< for all images, because the session keeps the last one
  run::Session session;
};

ImageConverter::ImageConverter(std::string source, std::string config, Kind kind)
    : source_(std::move(source)), config_(std::move(config)) {
  const nlohmann::json json = io::parse_json(config_, printable(source_));
  const auto has = [](const nlohmann::json& object, const char* key) {
    return object.is_object() && object.contains(key);
  };
  if (!has(json, "class_name") || !json["class_name"].is_string() || !has(json, "config"))
    throw bad_input("{}: expected an object with 'class_name' and 'config'", printable(source_));
  if (const auto name = json["class_name"].get<std::string>();
      kind == Kind::layer_of_preset && !name.ends_with("ImageConverter"))
    throw bad_input("{}: expected an ImageConverter of KerasHub, got '{}'", printable(source_), printable(name));
  channels_first_ = has(json["config"], "data_format") && json["config"]["data_format"] == "channels_first";
}

ImageConverter::ImageConverter(ImageConverter&& other) noexcept = default;
ImageConverter& ImageConverter::operator=(ImageConverter&& other) noexcept = default;
ImageConverter::~ImageConverter() = default;

void ImageConverter::prepare(const std::string& file, Dim height, Dim width, const Execution& execution) {
  const auto require = [&](std::int64_t bytes) {
    run::require_memory(fmt::format("{}: the conversion of {} by {} pixels takes", printable(file), width, height),
                        static_cast<UInt128>(bytes), memory_limit(execution.memory_limit),
                        [] { return "give a smaller image"; });
  };
  if (prepared_ && prepared_->height == height && prepared_->width == width) return require(prepared_->bytes);
  prepared_.reset();
  keras::ReadOptions options;
  options.input_shape = channels_first_ ? Shape{3, height, width} : Shape{height, width, 3};
  const LoadedModel layer = load_model(ModelText{source_, config_, options, {}}, ReadingOptions{}, kIgnored);
  keras::LowerOptions lower;
  lower.batch = 1;
  graph::Graph graph = layer.model.lower(lower);
  const PixelView view(height, width, channels_first_, graph);
  const graph::Value input = graph.value(graph.inputs.front());
  std::int64_t bytes = height * width * 3;
  for (const graph::Output& output : graph.outputs)
    bytes += graph.value(output.value).shape.size() * bytes_of(DType::float32);
  Execution here;
  here.threads = execution.threads;
  const auto backend = open_backend(here.device, here.backend, kIgnored);
  run::Planned planned = run::plan_for(*backend, std::move(graph));
  require(plan::sum_of_bytes({backend->memory_needed(planned.plan, here.compile_options()), bytes}));
  prepared_ =
      std::make_unique<Prepared>(Prepared{height, width, bytes, view, Tensor(input.dtype, input.shape),
                                          run::Session(*backend, std::move(planned), {}, here.compile_options())});
}

Tensor ImageConverter::read(const std::string& file, const Execution& execution) {
  return io::read_image(file, [&](Dim height, Dim width) { prepare(file, height, width, execution); });
}

std::vector<NamedTensor> ImageConverter::run(Tensor pixels) {
  prepared_->view.copy(pixels, prepared_->input);
  pixels = Tensor();  // the input replaces them
  prepared_->session.run({&prepared_->input, 1});
  return prepared_->session.outputs();
}

Tensor ImageConverter::convert(const std::string& file, const Execution& execution) {
  const std::vector<NamedTensor> results = run(read(file, execution));
  if (results.size() != 1)
    throw bad_input("{}: the converter divides an image into patches, which only attn generate reads",
                    printable(source_));
  const Shape shape = results.front().tensor.shape();
  return copied(results.front().tensor, {shape[1], shape[2], shape[3]});
}

ImagePatches ImageConverter::patches(const std::string& file, const Execution& execution) {
  return patches_of(read(file, execution));
}

std::vector<ImagePatches> ImageConverter::padded_patches(const std::vector<std::string>& files,
                                                         const Execution& execution, Work& work) {
  std::vector<Tensor> images;
  Dim height = 0, width = 0;
  for (const std::string& file : files) {
    images.push_back(io::read_image(file, [&](Dim own_height, Dim own_width) {
      height = std::max(height, own_height);
      width = std::max(width, own_width);
      if (height > io::kMaxImagePixels / width)
        throw bad_input("{}: images of {} by {} pixels, the common size of all, are too large", printable(file), height,
                        width);
      run::require_memory(fmt::format("{}: its {} by {} pixels take", printable(file), own_width, own_height),
                          static_cast<UInt128>(own_height) * static_cast<UInt128>(own_width) * 3,
                          memory_limit(execution.memory_limit), [] { return "give a smaller image, or fewer"; });
    }));
  }
  std::vector<ImagePatches> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    prepare(files[i], height, width, execution);
    out.push_back(patches_of(padded(std::exchange(images[i], Tensor()), height, width)));
    work.advance();
  }
  return out;
}

ImagePatches ImageConverter::patches_of(Tensor pixels) {
  const std::vector<NamedTensor> results = run(std::move(pixels));
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
  if (auto found = converter_of(loaded, "image_converter"))
    return ImageConverter(std::move(found->source), std::move(found->config));
  const auto text = folder_config(loaded, kProcessorFile);
  if (!text) return std::nullopt;
  const std::string place = *loaded.weights + "/" + kProcessorFile;
  return ImageConverter(place, converter_of_processor(io::parse_json(*text, printable(place)), printable(place)).dump(),
                        ImageConverter::Kind::processor_of_transformers);
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

}  // namespace

std::vector<ImagePatches> convert_patches(const LoadedModel& loaded, const std::vector<std::string>& files, bool padded,
                                          const Execution& execution, const Listener& listener) {
  ImageConverter converter = required_converter(loaded, "pixel_values");
  const std::unique_ptr<Work> work = listener.begin("reading images", static_cast<double>(files.size()));
  if (padded && files.size() > 1) return converter.padded_patches(files, execution, *work);
  std::vector<ImagePatches> out;
  for (const std::string& file : files) {
    out.push_back(converter.patches(file, execution));
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
    rows.push_back(converter.convert(file, execution));
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
