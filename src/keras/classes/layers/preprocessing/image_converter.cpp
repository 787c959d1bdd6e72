// KerasHub's image converters: resize, multiply by `scale`, add `offset` (image_converter.py). The classes of the
// families have no behavior of their own, except those of BLIP-2, Gemma 4 and Qwen 3.5.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "classes/layers/layers.h"
#include "classes/layers/numbers.h"
#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"
#include "classes/named_results.h"
#include "classes/ops/expression.h"

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
    if (image_size && (*image_size)[0] > kMostPixels / (*image_size)[1])
      config["image_size"].fail(fmt::format("more than {} pixels are not accepted", kMostPixels));
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
    return Call::result(scaled(call, x));
  }

 protected:
  /// The maximum number of pixels of a resized image.
  static constexpr Dim kMostPixels = Dim{1} << 26;

  /// Returns x·scale + offset, as far as these are given.
  [[nodiscard]] ValueId scaled(Call& call, ValueId x) const {
    graph::Builder& b = call.builder();
    if (scale) {
      x = b.cast(x, call.compute_dtype());
      x = b.binary(BinaryFn::multiply, x, of_channels(b, x, *scale));
    }
    if (offset) x = b.binary(BinaryFn::add, x, of_channels(b, x, *offset));
    return x;
  }

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
  DataFormat format;

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

/// Cuts an image (1,H,W,3) of any size into patches (P,frames,size,size,3), row by row. The image is resized to squares
/// of patches, and to a number of pixels within the limits. The second result is the grid: frames, rows and columns.
class Qwen3_5ImageConverter final : public ImageConverter, public NamedResults {
 public:
  void fields(Fields& f) override {
    ImageConverter::fields(f);
    f("patch_size", patch_size);
    f("temporal_patch_size", temporal_patch_size);
    f("spatial_merge_size", spatial_merge_size);
    f("min_pixels", min_pixels);
    f("max_pixels", max_pixels);
  }
  void check(const Ref& config) override {
    ImageConverter::check(config);
    for (const auto& [key, size] : {std::pair("patch_size", patch_size),
                                    {"temporal_patch_size", temporal_patch_size},
                                    {"spatial_merge_size", spatial_merge_size}})
      if (size > kMost) config[key].fail(fmt::format("more than {} are not accepted", kMost));
    if (format.channels_first()) config["data_format"].fail("expected channels_last: patches have the channels last");
  }
  [[nodiscard]] std::span<const std::string_view> result_keys() const override {
    static constexpr std::array<std::string_view, 2> kKeys = {"grid_thw", "patches"};
    return kKeys;
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Shape in = call.shape("inputs");
    const bool batched = in.rank() == 4;
    if ((in.rank() != 3 && !batched) || in.back() != 3 || (batched && in[0] != kUnknown && in[0] != 1))
      throw bad_input("expected one image (height, width, 3), got {}", in.str());
    const Dim height = in[-3], width = in[-2], size = patch_size, frames = temporal_patch_size;
    if (height == kUnknown || width == kUnknown || in[0] == kUnknown)
      return results(b.apply(graph::Fill{{kUnknown, frames, size, size, 3}, call.compute_dtype(), 0.0}, {}),
                     b.apply(graph::Fill{{3}, DType::int32, 0.0}, {}));
    const float factor = scaling(height, width);
    const Dim rows = squares(height, factor) * spatial_merge_size,
              columns = squares(width, factor) * spatial_merge_size;
    if (rows * size > kMostPixels || columns * size > kMostPixels / (rows * size))
      throw bad_input("an image {} would be resized to more than {} pixels", in.str(), kMostPixels);

    Resampling how;
    how.interpolation = interpolation.value;
    how.antialias = antialias;
    ValueId x = b.reshape(b.cast(call.tensor("inputs")->id, DType::float32), {1, height, width, 3});
    const Expression resized(b, resized_image(b, x, 1, rows * size, columns * size, how));
    x = scaled(call, max(min(resized, resized.number(255.0)), resized.number(0.0)));
    x = b.transpose(b.reshape(x, {rows, size, columns, size, 3}), {0, 2, 1, 3, 4});
    x = b.apply(graph::Broadcast{{rows * columns, frames, size, size, 3}},
                {b.reshape(x, {rows * columns, 1, size, size, 3})});
    Tensor grid(DType::int32, {3});
    grid.set(0, 1);
    grid.set(1, static_cast<double>(rows));
    grid.set(2, static_cast<double>(columns));
    return results(x, b.constant(std::move(grid)));
  }

 private:
  static constexpr std::int64_t kMost = 1 << 12;  // pixels, patches or frames; far above published models

  static Arg results(ValueId patches, ValueId grid) {
    return ArgDict{{"patches", Call::result(patches)}, {"grid_thw", Call::result(grid)}};
  }
  /// Returns the factor of the sides, in float32 as in KerasHub.
  [[nodiscard]] float scaling(Dim height, Dim width) const {
    const auto total = static_cast<float>(static_cast<double>(height) * static_cast<double>(width));
    const auto towards = [&](std::int64_t pixels) { return std::sqrt(static_cast<float>(pixels) / total); };
    if (static_cast<double>(total) < static_cast<double>(min_pixels.value)) return towards(min_pixels);
    return static_cast<double>(total) > static_cast<double>(max_pixels.value) ? towards(max_pixels) : 1.0F;
  }
  /// Returns the number of squares of patches along a side.
  [[nodiscard]] Dim squares(Dim side, float factor) const {
    const auto stride = static_cast<float>(patch_size * spatial_merge_size);
    const float count = std::nearbyint(static_cast<float>(side) * factor / stride);
    return static_cast<Dim>(std::clamp(count, 1.0F, static_cast<float>(kMostPixels)));
  }

  Positive patch_size = 16, temporal_patch_size = 2, spatial_merge_size = 2, min_pixels = 65536, max_pixels = 16777216;
};

/// (1,H,W,3) → patches (1,P,3·patch_size²) with the positions (1,P,2) of their columns and rows. An image keeps its
/// ratio of height and width, and P is the same for all images: padding has the position (-1,-1).
class Gemma4ImageConverter final : public Float32ImageConverter, public NamedResults {
 public:
  [[nodiscard]] std::span<const std::string_view> result_keys() const override {
    static constexpr std::array<std::string_view, 2> kKeys = {"pixel_position_ids", "pixel_values"};
    return kKeys;
  }
  void fields(Fields& f) override {
    ImageConverter::fields(f);
    if (!f.reading()) f.put("image_size", python_tuple({1, 1}));  // KerasHub's resizing states this size
    f("patch_size", patch_size);
    if (!f.reading()) return;  // KerasHub does not write the other two
    f("max_soft_tokens", max_soft_tokens);
    f("pooling_kernel_size", pooling_kernel_size);
  }
  void check(const Ref& config) override {
    Float32ImageConverter::check(config);
    const auto at_most = [&](const char* key, std::int64_t value, std::int64_t most) {
      if (value > most) config[key].fail(fmt::format("expected at most {}", most));
    };
    at_most("patch_size", patch_size, 1 << 12);
    at_most("pooling_kernel_size", pooling_kernel_size, 1 << 8);
    at_most("max_soft_tokens", max_soft_tokens, 1 << 16);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId in = call.tensor("inputs")->id;
    const Shape shape = b.shape(in);
    if (shape.rank() != 4 || shape[3] != 3 || shape[1] == kUnknown || shape[2] == kUnknown)
      throw bad_input("expected a batch of images (batch, height, width, 3), got {}", shape.str());
    const Dim rows = cells(shape[1], shape[1] * shape[2]), columns = cells(shape[2], shape[1] * shape[2]),
              size = patch_size;
    Resampling how;
    how.interpolation = "bicubic";
    how.antialias = true;
    const Expression resized(b,
                             resized_image(b, b.cast(in, call.compute_dtype()), 1, rows * size, columns * size, how));
    const Expression clipped = min(max(resized, resized.number(0.0)), resized.number(255.0));
    const ValueId divided = b.reshape(scaled(call, clipped), {shape[0], rows, size, columns, size, 3});
    const ValueId patches =
        b.reshape(b.transpose(divided, {0, 1, 3, 2, 4, 5}), {shape[0], rows * columns, 3 * size * size});
    const auto number = [&](int axis) {
      return b.apply(graph::Iota{{shape[0], rows, columns, 1}, DType::int32, axis}, {});
    };
    const ValueId positions =
        b.reshape(b.apply(graph::Concat{3}, {number(2), number(1)}), {shape[0], rows * columns, 2});
    return ArgDict{{"pixel_values", Call::result(padded(b, patches, 0.0))},
                   {"pixel_position_ids", Call::result(padded(b, positions, -1.0))}};
  }

 private:
  /// Returns the maximum number of patches of an image.
  [[nodiscard]] Dim most() const { return max_soft_tokens * pooling_kernel_size * pooling_kernel_size; }
  /// Returns the number of patches along a side of `length` pixels, for an image of `pixels`. KerasHub computes it in
  /// float32.
  [[nodiscard]] Dim cells(Dim length, Dim pixels) const {
    const auto target = static_cast<float>(most() * patch_size * patch_size);
    const float factor = std::sqrt(target / static_cast<float>(pixels));
    const auto square = static_cast<float>(pooling_kernel_size * patch_size);
    const auto squares = static_cast<Dim>(std::floor(factor * static_cast<float>(length) / square));
    return std::max<Dim>(squares, 1) * pooling_kernel_size;
  }
  /// Appends rows of `fill`. An image that is much longer than wide may have more patches than the maximum.
  [[nodiscard]] ValueId padded(graph::Builder& b, ValueId x, double fill) const {
    const Shape shape = b.shape(x);
    if (shape[1] >= most()) return x;
    const ValueId rest = b.apply(graph::Fill{{shape[0], most() - shape[1], shape[2]}, b.dtype(x), fill}, {});
    return b.apply(graph::Concat{1}, {x, rest});
  }

  Positive patch_size = 16, max_soft_tokens = 280, pooling_kernel_size = 3;
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
    converter<Gemma4ImageConverter>("Gemma4ImageConverter", "keras_hub.src.models.gemma4.gemma4_image_converter"),
    converter("MetaCLIP2ImageConverter", "keras_hub.src.models.metaclip_2.metaclip_2_image_converter"),
    converter("MiTImageConverter", "keras_hub.src.models.mit.mit_image_converter"),
    converter("MobileNetV5ImageConverter", "keras_hub.src.models.mobilenetv5.mobilenetv5_image_converter"),
    converter("PARSeqImageConverter", "keras_hub.src.models.parseq.parseq_image_converter"),
    converter("PaliGemmaImageConverter", "keras_hub.src.models.pali_gemma.pali_gemma_image_converter"),
    converter<Qwen3_5ImageConverter>("Qwen3_5ImageConverter", "keras_hub.src.models.qwen3_5.qwen3_5_image_converter"),
    converter<Qwen3_5ImageConverter>("Qwen3_5MoeImageConverter",
                                     "keras_hub.src.models.qwen3_5_moe.qwen3_5_moe_image_converter"),
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
