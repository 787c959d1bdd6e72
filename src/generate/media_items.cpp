#include "media_items.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/audio_converter.h"
#include "attn/open/image_converter.h"

namespace attn::generate {
namespace {

/// Throws Error (bad_input) if the converter made an array of another shape than the model reads.
void expect_shape(const keras::MediaPrompt& how, const Shape& made, const std::string& file) {
  bool fits = made.rank() == how.shape.rank();
  for (int axis = 0; fits && axis < made.rank(); ++axis)
    fits = how.shape[axis] == kUnknown || how.shape[axis] == made[axis];
  if (!fits)
    throw bad_input(
        "{}: the model's converter gives {}, but the input '{}' takes {}: the converter is that of another "
        "model",
        printable(file), made.str(), how.input, how.shape.str());
}

/// Throws Error (bad_input) if an image has too few patches for its positions in a prompt.
void expect_enough_patches(const keras::MediaPrompt& how, Dim patches, const std::string& file) {
  if (how.patches_per_token > 0 && patches / how.patches_per_token < how.tokens)
    throw bad_input(
        "{}: the model's converter gives {} patches, of which {} become one position, but the preprocessor has {} "
        "positions for an image: the converter or the preprocessor is that of another model",
        printable(file), patches, how.patches_per_token, how.tokens);
}

/// Throws Error (bad_input) if a patch is in a column or a row for which the model has no position.
void expect_positions(const keras::MediaPrompt& how, const Tensor& positions, const std::string& file) {
  std::int64_t columns = 0, rows = 0;
  for (Dim i = 0; i < positions.shape()[0]; ++i) {
    columns = std::max(columns, static_cast<std::int64_t>(positions.at(2 * i)) + 1);
    rows = std::max(rows, static_cast<std::int64_t>(positions.at(2 * i + 1)) + 1);
  }
  const std::int64_t most = how.position_embedding_size;
  if (most > 0 && std::max(columns, rows) > most)
    throw bad_input(
        "{}: the model's converter cuts the image into {} columns and {} rows of patches, but the model has positions "
        "for {} of each: crop the image to a ratio of height and width that is closer to 1",
        printable(file), columns, rows, most);
}

/// Returns an item with a single array.
MediaItem item_of(const keras::MediaPrompt& how, const Tensor& array) {
  MediaItem out;
  out.arrays.push_back({std::string(how.input), array});
  out.tokens = how.tokens;
  return out;
}

MediaItem item_of(const keras::MediaPrompt& how, const open::AudioFeatures& sound, const std::string& file) {
  expect_shape(how, sound.features.shape(), file);
  const std::string input(how.input);
  const Tensor mask(DType::int32, {sound.features.shape()[0]});
  for (Dim i = 0; i < sound.valid; ++i) mask.set(i, 1);
  MediaItem out;
  out.arrays.push_back({input, sound.features});
  out.arrays.push_back({input + "_mask", mask});
  out.tokens = how.merge > 0 ? (sound.valid + how.merge - 1) / how.merge : how.tokens;
  return out;
}

MediaItem item_of(const keras::MediaPrompt& how, const open::ImagePatches& image, const std::string& file) {
  expect_shape(how, image.patches.shape(), file);
  MediaItem out = item_of(how, image.patches);
  if (how.merge == 0) {
    if (!image.positions)
      throw bad_input("{}: the model's converter gives patches without positions: it is that of another model",
                      printable(file));
    expect_enough_patches(how, image.patches.shape()[0], file);
    expect_positions(how, *image.positions, file);
    out.arrays.push_back({"pixel_position_ids", *image.positions, -1.0});
    return out;
  }
  if (!image.grid || image.grid->rows % how.merge != 0 || image.grid->columns % how.merge != 0)
    throw bad_input("{}: the model's converter gives no squares of {} × {} patches: it is that of another model",
                    printable(file), how.merge, how.merge);
  out.grid = *image.grid;
  out.tokens = out.grid.rows / how.merge * (out.grid.columns / how.merge);
  return out;
}

}  // namespace

std::vector<MediaItem> read_items(const keras::MediaPrompt& how, const std::vector<std::string>& files,
                                  const open::LoadedModel& loaded, const open::Execution& execution,
                                  const open::Listener& listener) {
  std::vector<MediaItem> out;
  if (files.empty()) return out;
  if (how.modality == keras::Modality::audio) {
    const auto sounds = open::convert_audio(loaded, files, execution, listener);
    for (std::size_t i = 0; i < sounds.size(); ++i) out.push_back(item_of(how, sounds[i], files[i]));
    return out;
  }
  if (how.input == "images") {
    for (const Tensor& image : open::convert_images(loaded, files, "images", how.shape, execution, listener))
      out.push_back(item_of(how, image));
    return out;
  }
  // KerasHub pads images with a fixed number of tokens to one size.
  const auto images = open::convert_patches(loaded, files, how.merge == 0, execution, listener);
  for (std::size_t i = 0; i < images.size(); ++i) out.push_back(item_of(how, images[i], files[i]));
  return out;
}

}  // namespace attn::generate
