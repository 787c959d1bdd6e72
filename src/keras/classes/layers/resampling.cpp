// The weights of TensorFlow's kernels: resize_nearest_neighbor, resize_bilinear and resize_bicubic with half-pixel
// centers, and scale_and_translate without antialiasing (tensorflow/core/kernels/image).
#include "classes/layers/resampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "attn/base/size.h"
#include "classes/ops/layout.h"

namespace attn::keras {
namespace {

constexpr std::int64_t kMaxWeights = std::int64_t{1} << 26;
constexpr std::int64_t kMaxParts = 4096;  // along one pooled axis

/// The weights of one cell of the result over the cells of the input.
using Weights1D = std::vector<double>;

/// Where the middle of cell i of `out` lies among the cells of `in`, counted from the middle of the first.
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

/// Keys's cubic at a distance of at most 2.
double cubic(double distance) {
  constexpr double a = -0.5;
  const double x = std::abs(distance);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
  return 0.0;
}

/// Weights whose sum is 1.
void normalize(Weights1D& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  if (std::abs(sum) < 1e-35) return;
  for (double& weight : weights) weight /= sum;
}

void bicubic(Dim i, Dim out, Weights1D& weights) {
  constexpr double kSteps = 1024.0;  // the kernel looks its weights up in a table
  const auto in = static_cast<Dim>(weights.size());
  const double at = source_of(i, in, out);
  const auto below = static_cast<Dim>(std::floor(at));
  const double share = std::nearbyint((at - static_cast<double>(below)) * kSteps) / kSteps;
  for (Dim offset = -1; offset <= 2; ++offset)
    if (below + offset >= 0 && below + offset < in)
      weights[static_cast<std::size_t>(below + offset)] = cubic(share - static_cast<double>(offset));
  normalize(weights);
}

/// The sinc of a window of `radius` cells, times that of the window.
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

}  // namespace

graph::ValueId resized(graph::Builder& b, graph::ValueId x, int axis, Dim size, std::string_view interpolation) {
  if (std::find(kInterpolations.begin(), kInterpolations.end(), interpolation) == kInterpolations.end())
    throw bad_input("the interpolation '{}' is not supported", interpolation);
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
    if (interpolation == "nearest") nearest(i, size, weights);
    if (interpolation == "bilinear") bilinear(i, size, weights);
    if (interpolation == "bicubic") bicubic(i, size, weights);
    if (interpolation == "lanczos3") lanczos(i, size, 3.0, weights);
    if (interpolation == "lanczos5") lanczos(i, size, 5.0, weights);
    for (Dim cell = 0; cell < in; ++cell) kernel.set(cell * size + i, weights[static_cast<std::size_t>(cell)]);
  }
  const int last = shape.rank() - 1;
  const graph::ValueId rows = moved(b, x, std::array{axis}, std::array{last});
  const graph::ValueId out = b.apply(graph::Linear{1, false, {}, false}, {rows, b.constant(std::move(kernel))});
  return moved(b, out, std::array{last}, std::array{axis});
}

graph::ValueId pooled(graph::Builder& b, graph::ValueId x, int first_axis, std::span<const std::int64_t> sizes,
                      bool average) {
  const graph::ReduceFn fn = average ? graph::ReduceFn::mean : graph::ReduceFn::max;
  int axis = first_axis;
  for (const std::int64_t size : sizes) {
    const Shape shape = b.shape(x);
    const Dim in = shape[axis];
    if (size < 1 || size > kMaxParts) throw bad_input("an axis cannot be pooled to {} cells", size);
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
