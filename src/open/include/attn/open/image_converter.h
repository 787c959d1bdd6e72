// A model's own conversion of images to an input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/keras/image_prompt.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/run/session.h"

namespace attn::open {

/// An image in patches, row by row.
struct PatchImage {
  Tensor patches;  ///< (rows·columns, frames, size, size, 3) float32
  keras::PatchGrid grid;
};

/// Converts images as KerasHub's ImageConverter does: resizes, scales and shifts them.
class ImageConverter {
 public:
  /// Takes the config of a converter: a serialized layer as JSON. `source` is its file and place, for messages. Throws
  /// Error (bad_input).
  ImageConverter(std::string source, std::string config);

  /// Returns the image as a float array without a batch. `pixels` are (height, width, 3) uint8. Throws Error
  /// (bad_input), or no_memory before anything large is allocated.
  [[nodiscard]] Tensor convert(const Tensor& pixels, const Execution& execution);
  /// Returns the patches of the image, for a converter of images of any size. Throws Error as convert() does.
  [[nodiscard]] PatchImage patches(const Tensor& pixels, const Execution& execution);
  /// Does the same for a converter with several named results, such as patches and their positions.
  [[nodiscard]] std::vector<NamedTensor> convert_parts(const Tensor& pixels, const Execution& execution);

 private:
  /// Runs the conversion. The results are valid until the next one.
  std::vector<NamedTensor> run(const Tensor& pixels, const Execution& execution);
  /// Compiles the conversion of images of one size, (height, width, 3) or (3, height, width).
  void prepare(const Shape& size, const Execution& execution);

  std::string source_, config_;
  bool channels_first_ = false;
  Shape prepared_;
  DType dtype_ = DType::float32;  ///< of the pixels
  std::optional<run::Session> session_;
};

/// Returns the converter of a task's preprocessor, or of a preset's preprocessor.json or image_converter.json; nothing
/// if there is none. Throws Error (bad_input).
[[nodiscard]] std::optional<ImageConverter> image_converter_of(const LoadedModel& loaded);

/// Reads JPEG and PNG files, and converts them by the model's converter for its input `input`, which takes images of
/// the shape `image`; unknown sizes are those of the converter. All results have one shape. Throws Error, also if the
/// model has no converter.
[[nodiscard]] std::vector<Tensor> convert_images(const LoadedModel& loaded, const std::vector<std::string>& files,
                                                 const std::string& input, const Shape& image,
                                                 const Execution& execution, const Listener& listener);

/// The same for a model that reads images of any size.
[[nodiscard]] std::vector<PatchImage> convert_patches(const LoadedModel& loaded, const std::vector<std::string>& files,
                                                      const Execution& execution, const Listener& listener);

}  // namespace attn::open
