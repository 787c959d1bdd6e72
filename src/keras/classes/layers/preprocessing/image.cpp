// Layers for image preprocessing (keras/src/layers/preprocessing/image_preprocessing).
#include <array>
#include <tuple>

#include "classes/any_number.h"
#include "classes/layers/layers.h"
#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Changes height and width of an image or a batch of images.
class ImageLayer : public Layer {
 public:
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const int rank = b.shape(x).rank();
    if (rank != 3 && rank != 4) throw bad_input("expected an image or a batch of images, got {}", b.shape(x).str());
    return Call::result(sized(b, b.cast(x, call.compute_dtype()), format.channels_first() ? rank - 2 : rank - 3));
  }

 protected:
  /// Returns x with the target height and width. `row_axis` is the axis of the height; that of the width follows.
  virtual ValueId sized(graph::Builder& b, ValueId x, int row_axis) = 0;

  DataFormat format;
  Positive height, width;
};

class Resizing : public ImageLayer {
 public:
  void fields(Fields& f) override {
    format.field(f);
    f.required("height", height);
    f.required("width", width);
    f("interpolation", interpolation);
    f("crop_to_aspect_ratio", how.crop);
    f("pad_to_aspect_ratio", how.pad, 303);
    f("fill_mode", fill_mode, 303);
    f("fill_value", fill_value, 303);
    f("antialias", how.antialias, 309);
  }

 private:
  ValueId sized(graph::Builder& b, ValueId x, int row_axis) override {
    Resampling resampling = how;
    resampling.interpolation = interpolation.value;
    resampling.fill = fill_value;
    return resized_image(b, x, row_axis, height, width, resampling);
  }

  Choice interpolation{"bilinear", {kInterpolations.begin(), kInterpolations.end()}};
  Resampling how;
  Choice fill_mode{"constant", {"constant"}};
  AnyNumber fill_value = 0.0;
};

class CenterCrop : public ImageLayer {
 public:
  void fields(Fields& f) override {
    format.field(f);
    f.required("height", height);
    f.required("width", width);
  }

 private:
  ValueId sized(graph::Builder& b, ValueId x, int row_axis) override {
    graph::Slice slice;
    slice.ranges.resize(static_cast<std::size_t>(b.shape(x).rank()));
    for (const auto& [axis, size] : {std::pair(row_axis, height.value), std::pair(row_axis + 1, width.value)}) {
      const Dim given = b.shape(x)[axis];
      if (given < size && given != kUnknown)
        throw bad_input("an image {} is smaller than the center of {} by {}; enlarging it is not supported",
                        b.shape(x).str(), height.value, width.value);
      const Dim start = given == kUnknown ? 0 : (given - size) / 2;
      slice.ranges[static_cast<std::size_t>(axis)] = {start, start + size, 1};
    }
    return b.apply(slice, {x});
  }
};

/// Returns a window at a random position in training. A run returns the input, although the summary has the size of the
/// window.
class RandomCrop : public Layer {
 public:
  void fields(Fields& f) override {
    format.field(f);
    f.required("height", height);
    f.required("width", width);
    f("seed", seed);
  }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }
  Arg call(Call& call) override {
    Shape shape = call.shape("inputs");
    if (shape.rank() != 3 && shape.rank() != 4)
      throw bad_input("expected an image or a batch of images, got {}", shape.str());
    if (!call.lowering().symbolic()) return call.arg("inputs");
    shape[format.channels_first() ? -2 : -3] = height;
    shape[format.channels_first() ? -1 : -2] = width;
    graph::Builder& b = call.builder();
    return Call::result(b.apply(graph::Fill{shape, b.dtype(call.tensor("inputs")->id), 0.0}, {}));
  }

 private:
  DataFormat format;
  Positive height, width;
  Opaque seed;
};

/// Stretches each channel of each image to the whole range of values (auto_contrast.py).
class AutoContrast : public Layer {
 public:
  void fields(Fields& f) override {
    format.field(f, 315);
    f("value_range", value_range);
    if (f.reading() && value_range.size() != 2) f.config()["value_range"].fail("expected two numbers");
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression given{b, b.cast(call.tensor("inputs")->id, call.compute_dtype())};
    const int rank = given.shape().rank();
    if (rank != 3 && rank != 4) throw bad_input("expected an image or a batch of images, got {}", given.shape().str());
    const double low = value_range[0], high = value_range[1];
    const bool whole = low == 0.0 && high == kWhole;
    const Expression x = whole ? given : (given + -low) / (high - low) * kWhole;
    const auto over = [&](graph::ReduceFn fn) { return x.reduced({fn, {rank - 3, rank - 2}, true}); };
    const Expression least = over(graph::ReduceFn::min),
                     scale = x.number(kWhole) / (over(graph::ReduceFn::max) - least);
    const Expression stretched = x * scale + -least * scale;
    const Expression bounded{b, b.unary(graph::UnaryFn::clip, stretched, 0.0, kWhole)};
    const Expression out = whole ? bounded : bounded / kWhole * (high - low) + low;
    return Call::result(where(isnan(out), given, out));
  }

 private:
  static constexpr double kWhole = 255.0;
  DataFormat format;
  std::vector<Number> value_range{0, 255};
};

/// A key of an augmentation, with the Keras versions that write it.
struct Key {
  constexpr Key(const char* key = "", Version first = kOldest, Version until = kNewest)  // NOLINT: stands for its name
      : name(key), since(first), last(until) {}
  std::string_view name;
  Version since, last;
};

/// The treatment of integer images by an augmentation in a run.
enum class Integers : std::uint8_t { kept, cast };

/// A layer that changes images only in training; a run returns the input.
struct Augmentation {
  std::string_view class_name;
  Version since;
  Version format_since;  ///< first Keras version that writes data_format (as the first key)
  Integers integers;     ///< whether Keras casts images to the compute dtype before it looks at `training`
  std::array<Key, 8> keys;
};
constexpr std::array kAugmentations = {
    Augmentation{"RandomFlip", 300, 306, Integers::cast, {"seed", "mode"}},
    Augmentation{"RandomRotation",
                 300,
                 300,
                 Integers::cast,
                 {"factor", Key{"value_range", 300, 305}, "fill_mode", "fill_value", "interpolation", "seed"}},
    Augmentation{"RandomZoom",
                 300,
                 300,
                 Integers::cast,
                 {"height_factor", "width_factor", "fill_mode", "interpolation", "seed", "fill_value"}},
    Augmentation{"RandomTranslation",
                 300,
                 300,
                 Integers::cast,
                 {"height_factor", "width_factor", "fill_mode", "interpolation", "seed", "fill_value"}},
    Augmentation{"RandomShear",
                 308,
                 300,
                 Integers::cast,
                 {"x_factor", "y_factor", "fill_mode", "interpolation", "seed", "fill_value"}},
    Augmentation{"RandomContrast", 300, 315, Integers::kept, {"factor", Key{"value_range", 308}, "seed"}},
    Augmentation{"RandomBrightness", 300, 315, Integers::kept, {"factor", "value_range", "seed"}},
    Augmentation{"RandomHue", 308, 315, Integers::kept, {"factor", "value_range", "seed"}},
    Augmentation{"RandomSaturation", 308, 315, Integers::kept, {"factor", "value_range", "seed"}},
    Augmentation{"RandomSharpness", 308, 315, Integers::cast, {"factor", "value_range", "seed"}},
    Augmentation{"RandomInvert", 309, 315, Integers::kept, {"factor", "value_range", "seed"}},
    Augmentation{"RandomPosterization", 308, 315, Integers::kept, {"factor", "value_range", "seed"}},
    Augmentation{"RandomColorDegeneration", 308, 315, Integers::kept, {"factor", "value_range", "seed"}},
    Augmentation{"RandomColorJitter",
                 308,
                 315,
                 Integers::kept,
                 {"value_range", "brightness_factor", "contrast_factor", "saturation_factor", "hue_factor", "seed"}},
    Augmentation{"RandomGrayscale", 308, 315, Integers::kept, {"factor"}},
    Augmentation{"RandomErasing", 309, 315, Integers::cast, {"factor", "scale", "fill_value", "value_range", "seed"}},
    Augmentation{
        "RandomGaussianBlur", 309, 315, Integers::cast, {"factor", "kernel_size", "sigma", "value_range", "seed"}},
    Augmentation{
        "RandomPerspective", 309, 315, Integers::cast, {"factor", "scale", "interpolation", "fill_value", "seed"}},
    Augmentation{"RandomElasticTransform",
                 310,
                 315,
                 Integers::cast,
                 {"factor", "scale", "interpolation", "fill_mode", "fill_value", "value_range", "seed"}},
    Augmentation{
        "RandAugment", 308, 315, Integers::cast, {"value_range", "num_ops", "factor", "interpolation", "seed"}},
    Augmentation{"AugMix",
                 309,
                 315,
                 Integers::cast,
                 {"value_range", "num_chains", "chain_depth", "factor", "alpha", "all_ops", "interpolation", "seed"}},
    Augmentation{"MixUp", 308, 315, Integers::kept, {"alpha", "seed"}},
    Augmentation{"CutMix", 309, 315, Integers::cast, {"factor", "seed"}},
    Augmentation{
        "Solarization", 306, 315, Integers::cast, {"value_range", "addition_factor", "threshold_factor", "seed"}},
    Augmentation{"MaxNumBoundingBoxes", 307, 315, Integers::kept, {"max_number"}},
};

class TrainingImages : public Layer {
 public:
  explicit TrainingImages(const Augmentation& kind) : kind_(kind) {}
  void fields(Fields& f) override {
    format.field(f, kind_.format_since);
    for (std::size_t i = 0; i < kind_.keys.size() && !kind_.keys[i].name.empty(); ++i)
      f(kind_.keys[i].name, values_[i], kind_.keys[i].since, kind_.keys[i].last);
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    if (kind_.integers == Integers::kept || is_floating(b.dtype(x))) return call.arg("inputs");
    return Call::result(b.cast(x, call.compute_dtype()));
  }

 private:
  const Augmentation& kind_;
  DataFormat format;
  std::array<Opaque, 8> values_;
};

template <std::size_t kIndex>
LayerPtr make_training_images() {
  return std::make_unique<TrainingImages>(kAugmentations[kIndex]);
}

template <std::size_t... kIndices>
constexpr auto classes_of(std::index_sequence<kIndices...>) {
  return std::array{
      ClassInfo{.name = "Resizing", .make = make_layer<Resizing>, .since = 300, .role = Role::arrangement},
      ClassInfo{.name = "CenterCrop", .make = make_layer<CenterCrop>, .since = 300, .role = Role::arrangement},
      ClassInfo{.name = "RandomCrop", .make = make_layer<RandomCrop>, .since = 300, .role = Role::training},
      ClassInfo{.name = "AutoContrast", .make = make_layer<AutoContrast>, .since = 306, .role = Role::other},
      ClassInfo{.name = kAugmentations[kIndices].class_name,
                .make = make_training_images<kIndices>,
                .since = kAugmentations[kIndices].since,
                .role = Role::training}...};
}
constexpr auto kImageClasses = classes_of(std::make_index_sequence<kAugmentations.size()>());

}  // namespace

Family image_classes() { return kImageClasses; }

}  // namespace attn::keras
