// Layers that prepare images (keras/src/layers/preprocessing/image_preprocessing).
#include <array>
#include <tuple>

#include "classes/layers/layers.h"
#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Height and width of an image, alone or in a batch.
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
  /// x with the height and width that are wanted; `row_axis` is the height's, the width's follows.
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
    f("crop_to_aspect_ratio", crop);
    f("pad_to_aspect_ratio", pad);
    f("fill_mode", fill_mode);
    f("fill_value", fill_value);
    f("antialias", antialias);
  }
  void check(const Ref& config) override {
    for (const auto& [set, key] : {std::pair(crop, "crop_to_aspect_ratio"), std::pair(pad, "pad_to_aspect_ratio"),
                                   std::pair(antialias, "antialias")})
      if (set) config[key].fail("only a plain resize is supported");
  }

 private:
  ValueId sized(graph::Builder& b, ValueId x, int row_axis) override {
    return resized(b, resized(b, x, row_axis, height, interpolation.value), row_axis + 1, width, interpolation.value);
  }

  Choice interpolation{"bilinear", {kInterpolations.begin(), kInterpolations.end()}};
  bool crop = false, pad = false, antialias = false;
  std::string fill_mode = "constant";
  Number fill_value = 0.0;
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

/// What changes images in training only: a run gets its input back. `keys` is its config after data_format.
struct Augmentation {
  std::string_view class_name;
  std::array<std::string_view, 7> keys;
};
constexpr std::array kAugmentations = {
    Augmentation{"RandomFlip", {"seed", "mode"}},
    Augmentation{"RandomRotation", {"factor", "fill_mode", "fill_value", "interpolation", "seed"}},
    Augmentation{"RandomZoom", {"height_factor", "width_factor", "fill_mode", "interpolation", "seed", "fill_value"}},
    Augmentation{"RandomTranslation",
                 {"height_factor", "width_factor", "fill_mode", "interpolation", "seed", "fill_value"}},
    Augmentation{"RandomShear", {"x_factor", "y_factor", "fill_mode", "interpolation", "seed", "fill_value"}},
    Augmentation{"RandomContrast", {"factor", "value_range", "seed"}},
    Augmentation{"RandomBrightness", {"factor", "value_range", "seed"}},
    Augmentation{"RandomHue", {"factor", "value_range", "seed"}},
    Augmentation{"RandomSaturation", {"factor", "value_range", "seed"}},
    Augmentation{"RandomSharpness", {"factor", "value_range", "seed"}},
    Augmentation{"RandomInvert", {"factor", "value_range", "seed"}},
    Augmentation{"RandomPosterization", {"factor", "value_range", "seed"}},
    Augmentation{"RandomColorDegeneration", {"factor", "value_range", "seed"}},
    Augmentation{"RandomColorJitter",
                 {"value_range", "brightness_factor", "contrast_factor", "saturation_factor", "hue_factor", "seed"}},
    Augmentation{"RandomGrayscale", {"factor"}},
    Augmentation{"RandomErasing", {"factor", "scale", "fill_value", "value_range", "seed"}},
    Augmentation{"RandomGaussianBlur", {"factor", "kernel_size", "sigma", "value_range", "seed"}},
    Augmentation{"RandomPerspective", {"factor", "scale", "interpolation", "fill_value", "seed"}},
    Augmentation{"RandomElasticTransform",
                 {"factor", "scale", "interpolation", "fill_mode", "fill_value", "value_range", "seed"}},
    Augmentation{"RandAugment", {"value_range", "num_ops", "factor", "interpolation", "seed"}},
    Augmentation{"AugMix", {"value_range", "num_chains", "chain_depth", "factor", "alpha", "all_ops", "interpolation"}},
    Augmentation{"MixUp", {"alpha", "seed"}},
    Augmentation{"CutMix", {"factor", "seed"}},
};

class TrainingImages : public Layer {
 public:
  explicit TrainingImages(const Augmentation& kind) : kind_(kind) {}
  void fields(Fields& f) override {
    format.field(f);
    for (std::size_t i = 0; i < kind_.keys.size() && !kind_.keys[i].empty(); ++i) f(kind_.keys[i], values_[i]);
    if (kind_.class_name == "AugMix") f("seed", seed_);
  }
  Arg call(Call& call) override { return call.arg("inputs"); }

 private:
  const Augmentation& kind_;
  DataFormat format;
  std::array<Opaque, 7> values_;
  Opaque seed_;
};

template <std::size_t kIndex>
LayerPtr make_training_images() {
  return std::make_unique<TrainingImages>(kAugmentations[kIndex]);
}

template <std::size_t... kIndices>
constexpr auto rows_of(std::index_sequence<kIndices...>) {
  return std::array{ClassInfo{.name = "Resizing", .make = make_layer<Resizing>, .since = 300, .role = Role::arrangement},
                    ClassInfo{.name = "CenterCrop", .make = make_layer<CenterCrop>, .since = 300, .role = Role::arrangement},
                    LayerRow{kAugmentations[kIndices].class_name, "keras.layers", make_training_images<kIndices>}...};
}
constexpr auto kImageClasses = rows_of(std::make_index_sequence<kAugmentations.size()>());

}  // namespace

Family image_classes() { return kImageClasses; }

}  // namespace attn::keras
