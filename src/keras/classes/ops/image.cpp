// Image operations (keras.ops.image): sizes, colors, filters and margins.
#include <algorithm>
#include <cmath>

#include "classes/any_number.h"
#include "classes/layers/resampling.h"
#include "classes/ops/data_format.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

inline constexpr std::array<std::string_view, 1> kImages = {"images"};
constexpr Dim kMostCells = Dim{1} << 24;  // maximum elements of a kernel

/// An operation on an image (H,W,C) or a batch of images.
class ImageOperation : public WithArguments<kImages> {
 public:
  void fields(Fields& f) override { data_format.fields(f); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId given = call.tensor("images")->id;
    const int rank = b.shape(given).rank();
    if (rank != 3 && rank != 4) throw bad_input("expected an image or a batch of images, got {}", b.shape(given).str());
    const Expression out = changed({b, data_format.image_to_last(b, given)});
    return Call::result(data_format.image_from_last(b, out));
  }

 protected:
  /// Processes images with channels last.
  [[nodiscard]] virtual Expression changed(const Expression& images) const = 0;

  static void expect_floats(const Expression& images) {
    if (!is_floating(images.dtype()))
      throw bad_input("expected images of floats, got {}; cast them first", name_of(images.dtype()));
  }

  OpDataFormat data_format;
};

class Resize : public ImageOperation {
 public:
  void fields(Fields& f) override {
    f.required("size", size);
    f("interpolation", interpolation);
    f("antialias", how.antialias);
    f("crop_to_aspect_ratio", how.crop, 303);
    f("pad_to_aspect_ratio", how.pad, 303);
    f("fill_mode", fill_mode, 303);
    f("fill_value", fill_value, 303);
    data_format.fields(f);
  }

 private:
  [[nodiscard]] Expression changed(const Expression& images) const override {
    if (size.items.size() != 2)
      throw bad_input("a size of {} axes does not fit images {}", size.items.size(), images.shape().str());
    Resampling resampling = how;
    resampling.interpolation = interpolation.value;
    resampling.fill = fill_value;
    const int rank = images.shape().rank();
    return {*images.builder,
            resized_image(*images.builder, images, rank - 3, size.items[0], size.items[1], resampling)};
  }

  Tuple size;
  Choice interpolation{"bilinear", {kInterpolations.begin(), kInterpolations.end()}};
  Resampling how;
  Choice fill_mode{"constant", {"constant"}};
  AnyNumber fill_value = 0.0;
};

/// Returns the three channels, each (…,1).
std::array<Expression, 3> channels_of(const Expression& images) {
  const int axis = images.shape().rank() - 1;
  if (images.shape().back() != 3) throw bad_input("expected images of 3 channels, got {}", images.shape().str());
  const auto channel = [&](Dim i) {
    return Expression{*images.builder, sliced(*images.builder, images, axis, {i, i + 1, 1})};
  };
  return {channel(0), channel(1), channel(2)};
}
Expression joined(const Expression& x, const Expression& y, const Expression& z) {
  return {*x.builder, x.builder->apply(graph::Concat{x.shape().rank() - 1}, {x, y, z})};
}

class RGBToGrayscale : public ImageOperation {
  [[nodiscard]] Expression changed(const Expression& images) const override {
    const Dim channels = images.shape().back();
    if (channels == 1) return images;
    if (channels != 3) throw bad_input("expected images of 3 channels or 1, got {}", images.shape().str());
    const Expression colours = images.cast(as_floating(images.dtype()));
    Tensor shares(colours.dtype(), {3, 1});
    for (const auto& [at, share] : {std::pair(0, 0.2989), std::pair(1, 0.5870), std::pair(2, 0.1140)})
      shares.set(at, share);
    Builder& b = *images.builder;
    const graph::Linear sum{1, false, {}, false};
    return Expression{b, b.apply(sum, {colours, b.constant(std::move(shares))})}.cast(images.dtype());
  }
};

/// Hue, saturation and value as in tf.image, with hues from 0 to 1.
class RGBToHSV : public ImageOperation {
  [[nodiscard]] Expression changed(const Expression& images) const override {
    expect_floats(images);
    const auto [red, green, blue] = channels_of(images);
    const Expression value = max(max(red, green), blue), range = value - min(min(red, green), blue);
    const Expression zero = value.number(0.0), unit = value.number(1.0 / 6.0) / range;
    const Expression saturation = where(value > 0.0, range / value, zero);
    const Expression turned =
        where(red == value, unit * (green - blue),
              where(green == value, unit * (blue - red) + 2.0 / 6.0, unit * (red - green) + 4.0 / 6.0));
    const Expression hue = where(range > 0.0, turned, zero);
    return joined(where(hue < 0.0, hue + 1.0, hue), saturation, value);
  }
};

class HSVToRGB : public ImageOperation {
  [[nodiscard]] Expression changed(const Expression& images) const override {
    expect_floats(images);
    const auto [hue, saturation, value] = channels_of(images);
    const Expression sixths = hue * 6.0, rest = 1.0 - saturation, s = saturation, v = value;
    const auto clipped = [](const Expression& x) {
      return Expression{*x.builder, x.builder->unary(graph::UnaryFn::clip, x, 0.0, 1.0)};
    };
    const auto colour = [&](const Expression& share) { return (rest + s * clipped(share)) * v; };
    return joined(colour(abs(sixths + -3.0) + -1.0), colour(2.0 - abs(sixths + -2.0)),
                  colour(2.0 - abs(sixths + -4.0)));
  }
};

/// Convolves each channel with the kernels (height, width, 1, count): channel c gives the results c·count + i.
Expression convolved(const Expression& images, const std::vector<std::vector<double>>& kernels, Dim height, Dim width,
                     graph::Padding padding) {
  Builder& b = *images.builder;
  const Shape shape = images.shape();
  const Dim channels = shape.back(), count = static_cast<Dim>(kernels.size());
  if (channels == kUnknown) throw bad_input("the channels of the images must be known, got {}", shape.str());
  const Dim wide = times(channels, count);
  if (height < 1 || width < 1 || times(times(height, width), wide) > kMostCells)
    throw bad_input("a kernel of {} by {} for {} channels cannot be made", height, width, channels);
  Tensor kernel(images.dtype(), {height, width, 1, wide});
  for (Dim cell = 0; cell < height * width; ++cell)
    for (Dim out = 0; out < wide; ++out)
      kernel.set(cell * wide + out, kernels[static_cast<std::size_t>(out % count)][static_cast<std::size_t>(cell)]);
  const bool alone = shape.rank() == 3;
  const ValueId batch = alone ? b.expand_dims(images, 0) : images.id;
  const ValueId out =
      b.apply(graph::Conv{{1, 1}, {1, 1}, padding, channels, false, {}}, {batch, b.constant(std::move(kernel))});
  return {b, alone ? b.apply(graph::Reshape{b.shape(out).slice(1, 4)}, {out}) : out};
}

class GaussianBlur : public ImageOperation {
 public:
  void fields(Fields& f) override {
    f("kernel_size", kernel_size);
    f("sigma", sigma);
    data_format.fields(f);
  }

 private:
  [[nodiscard]] Expression changed(const Expression& images) const override {
    expect_floats(images);
    if (kernel_size.items.size() != 2 || sigma.size() != 2)
      throw bad_input("kernel_size and sigma must have 2 numbers each");
    std::array<std::vector<double>, 2> bells;
    for (std::size_t i = 0; i < 2; ++i) {
      const Dim size = kernel_size.items[i];
      if (size < 1 || size > kMostCells) throw bad_input("a kernel of {} cells cannot be made", size);
      double sum = 0.0;
      for (Dim at = 0; at < size; ++at) {
        const double x = (static_cast<double>(at) - static_cast<double>(size - 1) / 2.0) / sigma[i];
        bells[i].push_back(std::exp(-0.5 * x * x));
        sum += bells[i].back();
      }
      for (double& share : bells[i]) share /= sum;
    }
    // In Keras, the kernel is the product with the second size first, then reshaped.
    std::vector<double> kernel;
    for (const double row : bells[1])
      for (const double column : bells[0]) kernel.push_back(row * column);
    return convolved(images, {kernel}, kernel_size.items[0], kernel_size.items[1], graph::Padding::same);
  }

  Tuple kernel_size{{3, 3}};
  std::vector<Number> sigma{1.0, 1.0};
};

/// The gradients along rows and columns: (…, C, 2).
class SobelEdges : public WithArguments<kImages> {
 public:
  void fields(Fields& f) override { data_format.fields(f); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Expression images{b, data_format.image_to_last(b, call.tensor("images")->id)};
    const Shape shape = images.shape();
    if (shape.rank() != 4) throw bad_input("expected a batch of images, got {}", shape.str());
    if (!is_floating(images.dtype())) throw bad_input("expected images of floats; cast them first");
    const graph::Pad pad{graph::PadMode::reflect, {0, 1, 1, 0}, {0, 1, 1, 0}, 0.0};
    const Expression edges =
        convolved({b, b.apply(pad, {images})}, {{-1, -2, -1, 0, 0, 0, 1, 2, 1}, {-1, 0, 1, -2, 0, 2, -1, 0, 1}}, 3, 3,
                  graph::Padding::valid);
    Shape apart = shape;
    apart.push_back(2);
    const ValueId out = b.apply(graph::Reshape{apart}, {edges});
    return Call::result(data_format.channels_first() ? b.transpose(out, {0, 3, 1, 2, 4}) : out);
  }

 private:
  OpDataFormat data_format;
};

/// Pads or crops rows and columns. Two of the three numbers (both margins and the size) determine the third.
template <bool kPad>
class PadOrCrop : public ImageOperation {
 public:
  void fields(Fields& f) override {
    constexpr std::string_view kKind = kPad ? "padding" : "cropping";
    constexpr Version kWritten = 312;
    for (std::size_t i = 0; i < sides.size(); ++i) f(fmt::format("{}_{}", kSides[i], kKind), sides[i], kWritten);
    f("target_height", targets[0], kWritten);
    f("target_width", targets[1], kWritten);
    data_format.fields(f, kWritten);
  }

 private:
  static constexpr std::array<std::string_view, 4> kSides = {"top", "left", "bottom", "right"};

  [[nodiscard]] Expression changed(const Expression& images) const override {
    Builder& b = *images.builder;
    ValueId out = images;
    for (std::size_t i = 0; i < 2; ++i) {
      const int axis = images.shape().rank() - 3 + static_cast<int>(i);
      out = one_axis(b, out, axis, sides[i], sides[i + 2], targets[i]);
    }
    return {b, out};
  }

  static ValueId one_axis(Builder& b, ValueId x, int axis, std::optional<std::int64_t> before,
                          std::optional<std::int64_t> after, std::optional<std::int64_t> target) {
    if (static_cast<int>(before.has_value()) + static_cast<int>(after.has_value()) +
            static_cast<int>(target.has_value()) !=
        2)
      throw bad_input("expected two of: the margin before, the margin after, and the target size");
    const Shape shape = b.shape(x);
    if (shape[axis] == kUnknown) {
      if (!target) throw bad_input("an axis of an unknown size needs a target size");
      Shape out = shape;
      out[axis] = *target;
      return b.apply(graph::Fill{out, b.dtype(x), 0.0}, {});
    }
    const Dim more = kPad ? target.value_or(0) - shape[axis] : shape[axis] - target.value_or(0);
    const Dim front = before ? *before : more - *after, behind = after ? *after : more - *before;
    if (front < 0 || behind < 0 || front > kMaxSize / 4 || behind > kMaxSize / 4 ||
        (!kPad && front + behind > shape[axis]))
      throw bad_input("{} and {} cells at the sides do not fit an axis of {}", front, behind, shape[axis]);
    if (!kPad) return sliced(b, x, axis, {front, shape[axis] - behind, 1});
    graph::Pad pad;
    pad.before.assign(static_cast<std::size_t>(shape.rank()), 0);
    pad.after = pad.before;
    pad.before[static_cast<std::size_t>(axis)] = front;
    pad.after[static_cast<std::size_t>(axis)] = behind;
    return b.apply(pad, {x});
  }

  std::array<std::optional<std::int64_t>, 4> sides;
  std::array<std::optional<std::int64_t>, 2> targets;
};

constexpr std::array kImageOperations = {
    ClassInfo{"Resize", make_layer<Resize>, 300, kImageOps},
    ClassInfo{"RGBToGrayscale", make_layer<RGBToGrayscale>, 303, kImageOps},
    ClassInfo{"RGBToHSV", make_layer<RGBToHSV>, 304, kImageOps},
    ClassInfo{"HSVToRGB", make_layer<HSVToRGB>, 304, kImageOps},
    ClassInfo{"GaussianBlur", make_layer<GaussianBlur>, 309, kImageOps, Role::kernel},
    ClassInfo{"SobelEdges", make_layer<SobelEdges>, 315, kImageOps, Role::kernel},
    unnamed_before_311("PadImages", make_layer<PadOrCrop<true>>, 300, kImageOps),
    ClassInfo{.name = "CropImages",
              .make = make_layer<PadOrCrop<false>>,
              .since = 301,
              .module = kImageOps,
              .named_until = 310},
};

}  // namespace

Family image_operations() { return kImageOperations; }

}  // namespace attn::keras
