// A model's own conversion of images to an input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/keras/media_prompt.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::open {

/// An image in patches.
struct ImagePatches {
  Tensor patches;                        ///< (P,…) float32
  std::optional<Tensor> positions;       ///< (P,2) int32: column and row of each patch, (-1,-1) for padding
  std::optional<keras::PatchGrid> grid;  ///< without positions: the patches follow each other row by row
};

/// Converts images as KerasHub's ImageConverter does: resizes, scales and shifts them.
class ImageConverter {
 public:
  /// A converter of KerasHub, or the layers that do the same as an image processor of transformers.
  enum class Kind : std::uint8_t { layer_of_preset, processor_of_transformers };
  /// Takes the config of a converter: a serialized layer as JSON. `source` is its file and place, for messages. Throws
  /// Error (bad_input).
  ImageConverter(std::string source, std::string config, Kind kind = Kind::layer_of_preset);
  ImageConverter(ImageConverter&& other) noexcept;
  ImageConverter& operator=(ImageConverter&& other) noexcept;
  ~ImageConverter();

  /// Reads a JPEG or PNG file, and returns the image as a float array without a batch. Throws Error (bad_input), or
  /// no_memory before anything large is allocated.
  [[nodiscard]] Tensor convert(const std::string& file, const Execution& execution);
  /// Returns the patches of the image, for a converter that divides images. Throws Error as convert() does.
  [[nodiscard]] ImagePatches patches(const std::string& file, const Execution& execution);
  /// The same for images that first get the size of the largest one: black margins at the right and at the bottom. Work
  /// advances by one for each image.
  [[nodiscard]] std::vector<ImagePatches> padded_patches(const std::vector<std::string>& files,
                                                         const Execution& execution, Work& work);

 private:
  struct Prepared;

  /// Compiles the conversion of images of one size.
  void prepare(const std::string& file, Dim height, Dim width, const Execution& execution);
  [[nodiscard]] Tensor read(const std::string& file, const Execution& execution);
  /// Converts pixels for whose size the conversion was compiled. The results are valid until the next one.
  [[nodiscard]] std::vector<NamedTensor> run(Tensor pixels);
  [[nodiscard]] ImagePatches patches_of(Tensor pixels);

  std::string source_, config_;
  bool channels_first_ = false;
  std::unique_ptr<Prepared> prepared_;
};

/// Returns the converter of a task's preprocessor, of a preset's preprocessor.json or image_converter.json, or of a
/// Hugging Face folder's preprocessor_config.json; nothing if there is none. Throws Error (bad_input).
[[nodiscard]] std::optional<ImageConverter> image_converter_of(const LoadedModel& loaded);

/// Reads JPEG and PNG files, and converts them by the model's converter for its input `input`, which takes images of
/// the shape `image`; unknown sizes are those of the converter. All results have one shape. Throws Error, also if the
/// model has no converter.
[[nodiscard]] std::vector<Tensor> convert_images(const LoadedModel& loaded, const std::vector<std::string>& files,
                                                 const std::string& input, const Shape& image,
                                                 const Execution& execution, const Listener& listener);

/// The same for a model that reads images in patches. With `padded`, all images first get the size of the largest one:
/// black margins at the right and at the bottom.
[[nodiscard]] std::vector<ImagePatches> convert_patches(const LoadedModel& loaded,
                                                        const std::vector<std::string>& files, bool padded,
                                                        const Execution& execution, const Listener& listener);

}  // namespace attn::open
