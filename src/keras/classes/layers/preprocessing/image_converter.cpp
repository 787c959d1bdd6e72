// KerasHub's image converters: resize, multiply by `scale`, add `offset` (image_converter.py). The classes of the
// families have no behavior of their own, except that of BLIP-2.
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "classes/layers/layers.h"
#include "classes/layers/numbers.h"
#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

class ImageConverter : public Layer {
 public:
  void fields(Fields& f) override {
    f("image_size", image_size);
    if (f.reading()) {
      read_numbers(f);
    } else {
      f.put("scale", scale ? scale->json : Json());
      f.put("offset", offset ? offset->json : Json());
    }
    resizing_fields(f);
  }
  void check(const Ref& config) override {
    if (image_size && (image_size->rank() != 2 || (*image_size)[0] < 1 || (*image_size)[1] < 1))
      config["image_size"].fail("expected a height and a width, or null");
    if (crop && pad)
      config["pad_to_aspect_ratio"].fail("an image cannot be both cropped and padded to the aspect ratio");
  }
  /// KerasHub casts images only where it resizes or multiplies them.
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    ValueId x = call.tensor("inputs")->id;
    const int rank = b.shape(x).rank();
    if (rank != 3 && rank != 4) throw bad_input("expected an image or a batch of images, got {}", b.shape(x).str());
    if (image_size) {
      if (is_floating(b.dtype(x))) x = b.cast(x, call.compute_dtype());
      Resampling how;
      how.interpolation = interpolation.value;
      how.antialias = antialias;
      how.crop = crop;
      how.pad = pad;
      x = resized_image(b, x, format.channels_first() ? rank - 2 : rank - 3, (*image_size)[0], (*image_size)[1], how);
    }
    if (scale) {
      x = b.cast(x, call.compute_dtype());
      x = b.binary(BinaryFn::multiply, x, of_channels(b, x, *scale));
    }
    if (offset) x = b.binary(BinaryFn::add, x, of_channels(b, x, *offset));
    return Call::result(x);
  }

 protected:
  /// Returns a list of numbers, one for each channel.
  static Numbers of_list(Json list) {
    Numbers out;
    out.shape = {static_cast<Dim>(list.size())};
    for (const Json& value : list) out.values.push_back(value.get<double>());
    out.json = std::move(list);
    return out;
  }

  void resizing_fields(Fields& f) {
    f("interpolation", interpolation);
    f("antialias", antialias);
    f("crop_to_aspect_ratio", crop);
    f("pad_to_aspect_ratio", pad);
    f("bounding_box_format", bounding_box_format);
    if (f.reading()) format.field(f);  // KerasHub accepts this key but does not write it
  }

  std::optional<Shape> image_size;  ///< (height, width); the size stays without it
  std::optional<Numbers> scale, offset;
  Choice interpolation{"bilinear", {kInterpolations.begin(), kInterpolations.end()}};
  bool antialias = false, crop = true, pad = false;

 private:
  /// Reads `scale` and `offset`. Older presets have `height`, `width`, and the `mean` and the `variance` of channels.
  void read_numbers(Fields& f) {
    const auto read = [&](std::string_view key) -> std::optional<Numbers> {
      const auto ref = f.take(key);
      if (!ref || ref->is_null()) return std::nullopt;
      Numbers out;
      out.read(*ref);
      if (out.shape.rank() > 1) ref->fail("expected a number, or one for each channel");
      return out;
    };
    scale = read("scale");
    offset = read("offset");
    if (f.config().find("height") && f.config().find("width"))
      image_size = Shape{f.take("height")->integer_from(1), f.take("width")->integer_from(1)};
    if (!f.config().find("mean") || !f.config().find("variance")) return;
    const auto means = read("mean"), variances = read("variance");
    if (!means || !variances || means->values.size() != variances->values.size() || !scale || scale->shape.rank() != 0)
      f.config()["mean"].fail("expected a mean and a variance for each channel, and one number as 'scale'");
    const double whole = scale->values.front();
    Json scales = Json::array(), offsets = Json::array();
    for (std::size_t i = 0; i < means->values.size(); ++i) {
      const double deviation = std::sqrt(variances->values[i]);
      scales.push_back(whole / deviation);
      offsets.push_back(-means->values[i] / deviation);
    }
    scale = of_list(std::move(scales));
    offset = of_list(std::move(offsets));
  }

  /// Returns the numbers in the dtype of x, in a shape that matches its channels.
  [[nodiscard]] ValueId of_channels(graph::Builder& b, ValueId x, const Numbers& numbers) const {
    Shape shape = numbers.shape;
    if (shape.rank() == 1 && format.channels_first()) shape = {shape[0], 1, 1};
    return numbers.constant(b, b.dtype(x), shape);
  }

  DataFormat format;
  Opaque bounding_box_format{"yxyx"};
};

/// Computes in float32, whatever dtype its config has.
class Float32ImageConverter : public ImageConverter {
 public:
  void check(const Ref& config) override {
    ImageConverter::check(config);
    policy = {};
  }
};

/// Has the statistics of EVA-CLIP, which its config does not contain.
class BLIP2ImageConverter : public Float32ImageConverter {
 public:
  BLIP2ImageConverter() {
    image_size = Shape{224, 224};
    crop = false;
    interpolation.value = "bicubic";
    antialias = true;
    scale = of_list({0.014598426619242919, 0.015007768493717055, 0.014220065717024086});
    offset = of_list({-1.79226253374815, -1.7520971281645974, -1.4802197687835659});
  }
  void fields(Fields& f) override {
    f("image_size", image_size);
    resizing_fields(f);
  }
};

template <typename T = ImageConverter>
constexpr ClassInfo converter(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_layer<T>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::arrangement,
          .package = "keras_hub"};
}

constexpr std::array kConverters = {
    converter("ImageConverter", "keras_hub.src.layers.preprocessing.image_converter"),
    converter<BLIP2ImageConverter>("BLIP2ImageConverter", "keras_hub.src.models.blip2.blip2_image_converter"),
    converter("CLIPImageConverter", "keras_hub.src.models.clip.clip_image_converter"),
    converter("DINOV2ImageConverter", "keras_hub.src.models.dinov2.dinov2_image_converter"),
    converter("DINOV3ImageConverter", "keras_hub.src.models.dinov3.dinov3_image_converter"),
    converter("DeiTImageConverter", "keras_hub.src.models.deit.deit_image_converter"),
    converter("DepthAnythingImageConverter", "keras_hub.src.models.depth_anything.depth_anything_image_converter"),
    converter<Float32ImageConverter>("Gemma3ImageConverter", "keras_hub.src.models.gemma3.gemma3_image_converter"),
    converter<Float32ImageConverter>("Gemma3nImageConverter", "keras_hub.src.models.gemma3n.gemma3n_image_converter"),
    converter("MetaCLIP2ImageConverter", "keras_hub.src.models.metaclip_2.metaclip_2_image_converter"),
    converter("MiTImageConverter", "keras_hub.src.models.mit.mit_image_converter"),
    converter("MobileNetV5ImageConverter", "keras_hub.src.models.mobilenetv5.mobilenetv5_image_converter"),
    converter("PARSeqImageConverter", "keras_hub.src.models.parseq.parseq_image_converter"),
    converter("PaliGemmaImageConverter", "keras_hub.src.models.pali_gemma.pali_gemma_image_converter"),
    converter("SAMImageConverter", "keras_hub.src.models.sam.sam_image_converter"),
    converter("SegFormerImageConverter", "keras_hub.src.models.segformer.segformer_image_converter"),
    converter("SigLIPImageConverter", "keras_hub.src.models.siglip.siglip_image_converter"),
    converter("SwinTransformerImageConverter",
              "keras_hub.src.models.swin_transformer.swin_transformer_image_converter"),
    converter<Float32ImageConverter>("T5Gemma2ImageConverter",
                                     "keras_hub.src.models.t5gemma2.t5gemma2_image_converter"),
    converter("ViTImageConverter", "keras_hub.src.models.vit.vit_image_converter"),
};

}  // namespace

Family image_converter_classes() { return kConverters; }

}  // namespace attn::keras
