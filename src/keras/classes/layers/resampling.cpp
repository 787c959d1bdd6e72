// The weights of TensorFlow's kernels: resize_nearest_neighbor, resize_bilinear and resize_bicubic with half-pixel
// centers, and scale_and_translate without antialiasing (tensorflow/core/kernels/image).
#include "classes/layers/resampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "attn/base/size.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/array/number_range.h"

namespace attn::keras {
namespace {

constexpr std::int64_t kMaxWeights = std::int64_t{1} << 26;
constexpr std::int64_t kMaxCells = 4096;  // limit of cells along one pooled axis

/// The weights of the input cells for one output cell.
using Weights1D = std::vector<double>;

/// Returns the center of cell i of `out` cells, in units of the `in` cells, relative to the center of the first one.
double source_of(Dim i, Dim in, Dim out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  return (static_cast<float>(i) + 0.5F) * scale - 0.5F;
}

void nearest(Dim i, Dim out, Weights1D& weights) {
  const auto in = static_cast<Dim>(weights.size());
  const auto at = static_cast<Dim>(std::floor(source_of(i, in, out) + 0.5));
  weights[static_cast<std::size_t>(std::clamp<Dim>(at, 0, in - 1))] = 1.0;
}

void bilinear(Dim i, Dim out, Weights1D& weights) {
  const auto in = static_cast<Dim>(weights.size());
  const double at = source_of(i, in, out), below = std::floor(at), share = at - below;
  weights[static_cast<std::size_t>(std::clamp<Dim>(static_cast<Dim>(below), 0, in - 1))] += 1.0 - share;
  weights[static_cast<std::size_t>(std::clamp<Dim>(static_cast<Dim>(std::ceil(at)), 0, in - 1))] += share;
}

/// Returns the Keys cubic kernel at a distance of at most 2.
double cubic(double distance) {
  constexpr double a = -0.5;
  const double x = std::abs(distance);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
  return 0.0;
}

/// Scales the weights to a sum of 1.
void normalize(Weights1D& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  if (std::abs(sum) < 1e-35) return;
  for (double& weight : weights) weight /= sum;
}

void bicubic(Dim i, Dim out, Weights1D& weights) {
  constexpr double kSteps = 1024.0;  // TensorFlow's kernel is a look-up table of this many steps
  const auto in = static_cast<Dim>(weights.size());
  const double at = source_of(i, in, out);
  const auto below = static_cast<Dim>(std::floor(at));
  const double share = std::nearbyint((at - static_cast<double>(below)) * kSteps) / kSteps;
  for (Dim offset = -1; offset <= 2; ++offset)
    if (below + offset >= 0 && below + offset < in)
      weights[static_cast<std::size_t>(below + offset)] = cubic(share - static_cast<double>(offset));
  normalize(weights);
}

/// The Lanczos kernel: a sinc windowed by a sinc of `radius` cells.
void lanczos(Dim i, Dim out, double radius, Weights1D& weights) {
  const auto in = static_cast<Dim>(weights.size());
  const double at = source_of(i, in, out);
  const auto first = std::max<Dim>(static_cast<Dim>(std::ceil(at - radius)), 0);
  const auto last = std::min<Dim>(static_cast<Dim>(std::floor(at + radius)), in - 1);
  for (Dim cell = first; cell <= last; ++cell) {
    const double x = std::abs(static_cast<double>(cell) - at), angle = x * std::numbers::pi;
    double weight = 0.0;
    if (x <= 1e-3) {
      weight = 1.0;
    } else if (x <= radius) {
      weight = radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
    }
    weights[static_cast<std::size_t>(cell)] = weight;
  }
  normalize(weights);
}

/// Returns the value of the interpolation kernel at a distance.
double windowed(std::string_view interpolation, double x) {
  if (interpolation == "bilinear") return std::max(0.0, 1.0 - x);
  if (interpolation == "bicubic") return cubic(x);
  const double radius = interpolation == "lanczos3" ? 3.0 : 5.0, angle = x * std::numbers::pi;
  if (x <= 1e-3) return 1.0;
  return x > radius ? 0.0 : radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle);
}
double reach_of(std::string_view interpolation) {
  if (interpolation == "bilinear") return 1.0;
  if (interpolation == "bicubic") return 2.0;
  return interpolation == "lanczos3" ? 3.0 : 5.0;
}

/// Computes weights with a window that is as wide as an output cell (scale_and_translate with antialiasing).
void antialiased(Dim i, Dim out, std::string_view interpolation, Weights1D& weights) {
  const auto in = static_cast<Dim>(weights.size());
  const double steps = static_cast<double>(in) / static_cast<double>(out), wide = std::max(steps, 1.0);
  const double at = (static_cast<double>(i) + 0.5) * steps, reach = reach_of(interpolation) * wide;
  const auto first = std::max<Dim>(static_cast<Dim>(std::ceil(at - reach - 0.5)), 0);
  const auto last = std::min<Dim>(static_cast<Dim>(std::floor(at + reach - 0.5)), in - 1);
  for (Dim cell = first; cell <= last; ++cell)
    weights[static_cast<std::size_t>(cell)] =
        windowed(interpolation, std::abs(static_cast<double>(cell) + 0.5 - at) / wide);
  normalize(weights);
}

void weigh(Dim i, Dim out, std::string_view interpolation, bool antialias, Weights1D& weights) {
  if (interpolation == "nearest") return nearest(i, out, weights);
  if (antialias) return antialiased(i, out, interpolation, weights);
  if (interpolation == "bilinear") return bilinear(i, out, weights);
  if (interpolation == "bicubic") return bicubic(i, out, weights);
  lanczos(i, out, reach_of(interpolation), weights);
}

/// A range of an axis: `size` cells from `first` on; `first` is negative if the range is longer than the axis.
struct Part {
  Dim first = 0, size = 0;
};

/// Returns the range of an axis of `cells` to crop or pad to. Its ratio to the other axis (`others` cells) then is
/// `wanted` : `other`. Uses the float32 arithmetic of keras.ops.image.resize.
Part part_of(Dim cells, Dim others, Dim wanted, Dim other, bool crop) {
  const auto product = checked_mul(others, wanted);
  if (!product) throw bad_input("{} cells for {} are too many", wanted, others);
  const auto fitting = static_cast<Dim>(static_cast<float>(*product) / static_cast<float>(other));
  const Dim size = crop ? std::clamp<Dim>(fitting, 1, cells) : std::max(cells, fitting);
  return {static_cast<Dim>(static_cast<float>(cells - size) / 2.0F), size};
}

/// Resizes `axis` of x to `size` cells.
graph::ValueId resized(graph::Builder& b, graph::ValueId x, int axis, Dim size, std::string_view interpolation,
                       bool antialias) {
  const Shape shape = b.shape(x);
  const Dim in = shape[axis];
  if (in == kUnknown || size == kUnknown) {
    Shape out = shape;
    out[axis] = size;
    return b.apply(graph::Fill{out, b.dtype(x), 0.0}, {});
  }
  if (in < 1 || size < 1) throw bad_input("an axis of {} cells cannot be resized to {}", in, size);
  if (checked_mul(in, size).value_or(kMaxWeights + 1) > kMaxWeights)
    throw bad_input("{} cells for {} are too many", size, in);
  const DType dtype = b.dtype(x);
  Tensor kernel(dtype, {in, size});
  for (Dim i = 0; i < size; ++i) {
    Weights1D weights(static_cast<std::size_t>(in), 0.0);
    weigh(i, size, interpolation, antialias, weights);
    for (Dim cell = 0; cell < in; ++cell) kernel.set(cell * size + i, weights[static_cast<std::size_t>(cell)]);
  }
  const int last = shape.rank() - 1;
  const graph::ValueId rows = moved(b, x, std::array{axis}, std::array{last});
  const graph::ValueId out = b.apply(graph::Linear{1, false, {}, false}, {rows, b.constant(std::move(kernel))});
  return moved(b, out, std::array{last}, std::array{axis});
}

}  // namespace

graph::ValueId resized_image(graph::Builder& b, graph::ValueId x, int row_axis, Dim height, Dim width,
                             const Resampling& how) {
  const Shape shape = b.shape(x);
  const Dim rows = shape[row_axis], columns = shape[row_axis + 1];
  const DType given = b.dtype(x);
  if (given == DType::boolean) throw bad_input("expected images of numbers, got bool; cast them first");
  if (std::find(kInterpolations.begin(), kInterpolations.end(), how.interpolation) == kInterpolations.end())
    throw bad_input("the interpolation '{}' is not supported", how.interpolation);
  if (how.crop && how.pad) throw bad_input("an image cannot be both cropped and padded to the aspect ratio");
  if ((how.crop || how.pad) && rows != kUnknown && columns != kUnknown) {
    if (rows < 1 || columns < 1 || height < 1 || width < 1)
      throw bad_input("an image {} cannot be resized to {} by {}", shape.str(), height, width);
    const Part high = part_of(rows, columns, height, width, how.crop);
    const Part wide = part_of(columns, rows, width, height, how.crop);
    for (const auto& [axis, part] : {std::pair(row_axis, high), std::pair(row_axis + 1, wide)}) {
      if (how.crop) {
        x = sliced(b, x, axis, {part.first, part.first + part.size, 1});
      } else if (part.first < 0) {
        graph::Pad pad{graph::PadMode::constant, {}, {}, how.fill};
        pad.before.assign(static_cast<std::size_t>(shape.rank()), 0);
        pad.before[static_cast<std::size_t>(axis)] = -part.first;
        pad.after = pad.before;
        x = b.apply(pad, {x});
      }
    }
  }
  const bool copies = how.interpolation == "nearest";
  if (!copies) x = b.cast(x, DType::float32);
  x = resized(b, x, row_axis, height, how.interpolation, how.antialias);
  x = resized(b, x, row_axis + 1, width, how.interpolation, how.antialias);
  if (!copies && !is_floating(given)) x = b.unary(graph::UnaryFn::round, x);
  return saturated(b, x, given);
}

graph::ValueId pooled(graph::Builder& b, graph::ValueId x, int first_axis, std::span<const std::int64_t> sizes,
                      bool average) {
  const graph::ReduceFn fn = average ? graph::ReduceFn::mean : graph::ReduceFn::max;
  int axis = first_axis;
  for (const std::int64_t size : sizes) {
    const Shape shape = b.shape(x);
    const Dim in = shape[axis];
    if (size < 1 || size > kMaxCells) throw bad_input("an axis cannot be pooled to {} cells", size);
    if (in == kUnknown) {
      Shape out = shape;
      out[axis] = size;
      x = b.apply(graph::Fill{out, b.dtype(x), 0.0}, {});
    } else if (size != in) {
      if (in < 1) throw bad_input("an axis without cells cannot be pooled");
      std::vector<graph::ValueId> parts;
      for (std::int64_t i = 0; i < size; ++i) {
        graph::Slice part;
        part.ranges.resize(static_cast<std::size_t>(shape.rank()));
        part.ranges[static_cast<std::size_t>(axis)] = {i * in / size, ((i + 1) * in + size - 1) / size, 1};
        parts.push_back(b.apply(graph::Reduce{fn, {axis}, true}, {b.apply(part, {x})}));
      }
      x = parts.size() == 1 ? parts.front() : b.apply(graph::Concat{axis}, parts);
    }
    ++axis;
  }
  return x;
}

}  // namespace attn::keras
