#include "attn/generate/image_prompts.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/image.h"
#include "attn/open/image_converter.h"

namespace attn::generate {
namespace {

constexpr const char* kInput = "images";

/// Returns the shape (height, width, 3) of the model's images.
Shape image_shape(const open::LoadedModel& loaded) {
  keras::LowerOptions options;
  options.symbolic = true;
  const graph::Graph graph = loaded.model.lower(options);
  for (const graph::ValueId id : graph.inputs)
    if (const graph::Value& input = graph.value(id); input.name == kInput)
      return input.shape.slice(input.shape.rank() - 3, input.shape.rank());
  throw internal_error("a model with images in its prompts has no input '{}'", kInput);
}

/// The first step reads all prompts at once.
void expect_one_length(const std::vector<std::vector<Token>>& prompts) {
  for (std::size_t i = 1; i < prompts.size(); ++i)
    if (prompts[i].size() != prompts.front().size())
      throw bad_usage("prompts with images must have one length: prompt 1 has {} tokens and prompt {} has {}",
                      prompts.front().size(), i + 1, prompts[i].size());
}

/// Copies converted images of one shape to the places of `to`, counted from 0.
void copy_images(const std::vector<std::pair<const Tensor*, Dim>>& images, const Tensor& to) {
  for (const auto& [image, place] : images)
    std::memcpy(to.data() + place * image->bytes(), image->data(), static_cast<std::size_t>(image->bytes()));
}

/// Returns one image for each prompt: (prompts,H,W,3).
ImagePrompts in_front(const std::vector<Tensor>& images, const std::vector<std::string>& files, std::size_t prompts) {
  if (files.size() != prompts && files.size() != 1)
    throw bad_usage("{} images were given for {} prompts: give one for each, or one for all", files.size(), prompts);
  const Shape& image = images.front().shape();
  const Tensor all(DType::float32, {static_cast<Dim>(prompts), image[0], image[1], image[2]});
  std::vector<std::pair<const Tensor*, Dim>> placed;
  for (std::size_t i = 0; i < prompts; ++i)
    placed.emplace_back(&images[files.size() == 1 ? 0 : i], static_cast<Dim>(i));
  copy_images(placed, all);
  return {1, 0, {{kInput, all}}};
}

/// The positions of placeholders in the prompts.
struct Marks {
  Dim each = 0;   ///< maximum number of images of a prompt
  Dim total = 0;  ///< number of images
  std::vector<std::vector<Dim>> positions;
};

Marks find_marks(const std::vector<std::vector<Token>>& prompts, Token placeholder, Dim tokens) {
  Marks out;
  for (const auto& prompt : prompts) {
    std::vector<Dim>& own = out.positions.emplace_back();
    for (std::size_t i = 0; i < prompt.size(); ++i)
      if (prompt[i] == placeholder) own.push_back(static_cast<Dim>(i));
    if (std::ssize(own) % tokens != 0)
      throw bad_usage("prompt {} has {} positions of images, and an image has {}: give a larger `max_length`",
                      out.positions.size(), own.size(), tokens);
    out.each = std::max<Dim>(out.each, std::ssize(own) / tokens);
    out.total += std::ssize(own) / tokens;
  }
  return out;
}

/// Returns the arrays of the placeholders' positions. A prompt with fewer images than another has further ones, which
/// stand nowhere: their indices are 0.
std::vector<NamedTensor> positions_of(const std::vector<std::vector<Token>>& prompts, const Marks& marks, Dim tokens) {
  const auto rows = static_cast<Dim>(prompts.size());
  const auto length = static_cast<Dim>(prompts.front().size());
  const Tensor indices(DType::int32, {rows, marks.each * tokens}), mask(DType::int32, {rows, length});
  for (Dim row = 0; row < rows; ++row) {
    const std::vector<Dim>& own = marks.positions[static_cast<std::size_t>(row)];
    for (std::size_t i = 0; i < own.size(); ++i) {
      indices.set(row * marks.each * tokens + static_cast<Dim>(i), static_cast<double>(own[i]));
      mask.set(row * length + own[i], 1);
    }
  }
  return {{"vision_indices", indices}, {"vision_mask", mask}};
}

/// Returns each image with its place in the prompts.
std::vector<std::pair<const Tensor*, Dim>> placed_between(const std::vector<Tensor>& images, const Marks& marks,
                                                          Dim tokens) {
  std::vector<std::pair<const Tensor*, Dim>> placed;
  for (std::size_t row = 0; row < marks.positions.size(); ++row)
    for (Dim i = 0; i < std::ssize(marks.positions[row]) / tokens; ++i)
      placed.emplace_back(&images[placed.size()], static_cast<Dim>(row) * marks.each + i);
  return placed;
}

/// Returns the images where the prompts have placeholders; those that stand nowhere are black.
ImagePrompts between(const std::vector<Tensor>& images, const std::vector<std::vector<Token>>& prompts,
                     const Marks& marks, Dim tokens) {
  const Shape& image = images.front().shape();
  const Tensor all(DType::float32, {std::ssize(prompts), marks.each, image[0], image[1], image[2]});
  copy_images(placed_between(images, marks, tokens), all);
  ImagePrompts out{marks.each, 0, positions_of(prompts, marks, tokens)};
  out.arrays.push_back({kInput, all});
  return out;
}

/// Reads images of one size: smaller ones get black margins at the right and at the bottom, as in KerasHub.
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

/// Returns the patches of the images where the prompts have placeholders. Images that stand nowhere have only padding.
ImagePrompts patches_between(const open::LoadedModel& loaded, const std::vector<std::string>& files,
                             const std::vector<std::vector<Token>>& prompts, const Marks& marks, Dim tokens,
                             const open::Execution& execution, const open::Listener& listener) {
  auto converter = open::image_converter_of(loaded);
  if (!converter) throw bad_input("{}: the model has no ImageConverter, which `images` needs", loaded.file);
  const std::unique_ptr<open::Work> work = listener.begin("reading images", static_cast<double>(files.size()));
  std::vector<std::vector<Tensor>> converted;  // the images of each part
  std::vector<NamedTensor> arrays;
  for (const Tensor& image : read_padded(files)) {
    const std::vector<NamedTensor> parts = converter->convert_parts(image, execution);
    if (parts.size() != 2 || parts[0].name != "pixel_position_ids" || parts[1].name != "pixel_values")
      throw bad_input("{}: the model reads patches, and its ImageConverter gives none", loaded.file);
    converted.resize(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) converted[i].push_back(parts[i].tensor);
    work->advance();
  }
  const auto rows = static_cast<Dim>(prompts.size());
  for (std::size_t i = 0; i < converted.size(); ++i) {
    const Tensor& part = converted[i].front();
    const Tensor all(part.dtype(), {rows, marks.each, part.shape()[0], part.shape()[1]});
    if (part.dtype() == DType::int32) std::ranges::fill(all.as<std::int32_t>(), -1);
    copy_images(placed_between(converted[i], marks, tokens), all);
    arrays.push_back({i == 0 ? "pixel_position_ids" : "pixel_values", all});
  }
  ImagePrompts out{marks.each, converted.front().front().shape()[0], positions_of(prompts, marks, tokens)};
  out.arrays.insert(out.arrays.end(), arrays.begin(), arrays.end());
  return out;
}

}  // namespace

std::string with_placeholders(std::string_view text, const keras::ImagePrompt& how) {
  if (how.begins_prompt()) return std::string(text);
  std::string image(how.start);
  for (std::int64_t i = 0; i < how.tokens; ++i) image += how.placeholder;
  image += how.end;
  std::string out;
  while (true) {
    const std::size_t at = text.find(how.mark);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += image;
    text.remove_prefix(at + how.mark.size());
  }
}

ImagePrompts read_image_prompts(const open::LoadedModel& loaded, const std::vector<std::string>& files,
                                const std::vector<std::vector<Token>>& prompts, const tokenizers::Tokenizer* tokenizer,
                                const open::Execution& execution, const open::Listener& listener) {
  const auto how = loaded.model.image_prompt();
  if (!how) {
    if (files.empty()) return {};
    throw bad_usage("{}: `images` was given, but a {} reads only text", loaded.file, loaded.model.class_name());
  }
  Marks marks;
  if (how->begins_prompt()) {
    if (files.empty())
      throw bad_usage("{}: the prompts of a {} begin with an image: give `images`", loaded.file,
                      loaded.model.class_name());
  } else {
    std::optional<Token> placeholder;
    if (tokenizer != nullptr) placeholder = tokenizer->id(how->placeholder);
    if (!placeholder && !files.empty())
      throw bad_usage("`images` require prompts of text, and a tokenizer with the token {}", how->placeholder);
    if (placeholder) marks = find_marks(prompts, *placeholder, how->tokens);
    if (marks.total != std::ssize(files))
      throw bad_usage("{} images were given, and the prompts have {} marks {}, one of which stands for an image",
                      files.size(), marks.total, how->mark);
    if (files.empty()) return {};
  }
  expect_one_length(prompts);
  if (how->patches) return patches_between(loaded, files, prompts, marks, how->tokens, execution, listener);
  const std::vector<Tensor> images =
      open::convert_images(loaded, files, kInput, image_shape(loaded), execution, listener);
  return how->begins_prompt() ? in_front(images, files, prompts.size()) : between(images, prompts, marks, how->tokens);
}

}  // namespace attn::generate
