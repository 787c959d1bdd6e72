// Sampling of images at computed positions (keras.ops.image).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "classes/any_number.h"
#include "classes/ops/data_format.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::Builder;
using graph::UnaryFn;
using graph::ValueId;

Expression filled(Builder& b, const Shape& shape, DType dtype, double value = 0.0) {
  return {b, b.apply(graph::Fill{shape, dtype, value}, {})};
}
/// Returns 0, 1, 2, … along an axis.
Expression counted(Builder& b, const Shape& shape, int axis, DType dtype) {
  return {b, b.apply(graph::Iota{shape, dtype, axis, 0.0, 1.0}, {})};
}
Expression floored(const Expression& x) { return x.unary(UnaryFn::floor); }
Expression toward_zero(const Expression& x) { return x.unary(UnaryFn::trunc); }
Expression rounded_half_away(const Expression& x) { return x.unary(UnaryFn::sign) * floored(abs(x) + 0.5); }
Expression clipped(const Expression& x, double low, double high) {
  return {*x.builder, x.builder->unary(UnaryFn::clip, x, low, high)};
}
Expression within(const Expression& x, double size) { return (x.number(0.0) <= x) & (x < size); }

// ---- affine_transform

/// Returns the position that is read in place of one outside `size` cells (MapCoordinate in
/// tensorflow/core/kernels/image/image_ops.h).
Expression mapped(const Expression& at, Dim cells, const std::string& mode) {
  const auto size = static_cast<double>(cells), last = size - 1.0;
  if (mode == "constant") return at;
  if (mode == "nearest") return clipped(at, 0.0, last);
  if (cells <= 1) return at.number(0.0) * at;
  if (mode == "wrap") {
    const Expression below = at + (toward_zero(-at / last) + 1.0) * size, above = at - toward_zero(at / last) * size;
    return clipped(where(at < 0.0, below, where(at > last, above, at)), 0.0, last);
  }
  const double twice = 2.0 * size;
  const Expression low = at + toward_zero(-at / twice) * twice;
  const Expression below = where(low < -size, low + twice, -low + -1.0);
  const Expression high = at - toward_zero(at / twice) * twice;
  const Expression above = where(high < size, high, (twice - 1.0) - high);
  return clipped(where(at < 0.0, below, where(at > last, above, at)), 0.0, last);
}

/// A batch of images (B,H,W,C), which is read at integer positions (B,H',W'). Each position gives C numbers.
class Places {
 public:
  Places(const Expression& images, double fill) : images_(images), shape_(images.shape()), fill_(fill) {}
  [[nodiscard]] Expression at(const Expression& y, const Expression& x) const {
    Builder& b = *images_.builder;
    const auto height = static_cast<double>(shape_[1]), width = static_cast<double>(shape_[2]);
    const Expression inside = within(y, height) & within(x, width);
    const auto index = [](const Expression& place, double size) {
      return clipped(place, 0.0, std::max(size - 1.0, 0.0)).cast(DType::int32);
    };
    const Expression image = counted(b, y.shape(), 0, DType::int32);
    const Expression row = (image * height + index(y, height)) * width + index(x, width);
    const Expression rows{b, b.apply(graph::Reshape{{shape_[0] * shape_[1] * shape_[2], shape_[3]}}, {images_})};
    const Expression read{b, b.apply(graph::Gather{0}, {rows, row})};
    return where({b, b.expand_dims(inside, -1)}, read, read.number(fill_));
  }

 private:
  const Expression& images_;
  Shape shape_;
  double fill_;
};

inline constexpr std::array<std::string_view, 2> kTransformArguments = {"images", "transform"};

/// Transforms images: output (x, y) is the input at ((a₀x + a₁y + a₂)/k, (b₀x + b₁y + b₂)/k) with k = c₀x + c₁y + 1.
class AffineTransform : public WithArguments<kTransformArguments> {
 public:
  void fields(Fields& f) override {
    f("interpolation", interpolation, 312);
    f("fill_mode", fill_mode, 312);
    f("fill_value", fill_value, 312);
    data_format.fields(f, 312);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId given = call.tensor("images")->id;
    const Shape shape = b.shape(given);
    if (shape.rank() != 3 && shape.rank() != 4) throw bad_input("expected images, got {}", shape.str());
    if (!is_floating(b.dtype(given))) throw bad_input("expected images of floats, got {}", name_of(b.dtype(given)));
    const Operand transform(call, "transform");
    if (transform.rank() < 1 || transform.rank() > 2 || transform.shape().back() != 8)
      throw bad_input("expected 8 numbers for a transform, got {}", transform.shape().str());
    if (!shape.known()) return Call::result(filled(b, shape, b.dtype(given)));
    ValueId images = data_format.image_to_last(b, given);
    if (shape.rank() == 3) images = b.expand_dims(images, 0);
    ValueId out = warped({b, images}, {b, transform.as(DType::float32)});
    if (shape.rank() == 3) out = b.apply(graph::Reshape{b.shape(out).slice(1, 4)}, {out});
    return Call::result(data_format.image_from_last(b, out));
  }

 private:
  [[nodiscard]] Expression warped(const Expression& images, const Expression& transform) const {
    Builder& b = *images.builder;
    const Shape shape = images.shape(), grid{shape[0], shape[1], shape[2]};
    if (checked_elements(shape) > kMostPlaces) throw bad_input("images {} are too large to warp", shape.str());
    const auto number = [&](Dim i) {  // (B or 1, 1, 1)
      const ValueId one = sliced(b, transform, transform.shape().rank() - 1, {i, i + 1, 1});
      const Dim count = transform.shape().rank() == 2 ? transform.shape()[0] : 1;
      return Expression{b, b.apply(graph::Reshape{{count, 1, 1}}, {one})};
    };
    const Expression x = counted(b, grid, 2, DType::float32), y = counted(b, grid, 1, DType::float32);
    const Expression k = number(6) * x + number(7) * y + 1.0;
    const Expression in_x = mapped((number(0) * x + number(1) * y + number(2)) / k, shape[2], fill_mode.value);
    const Expression in_y = mapped((number(3) * x + number(4) * y + number(5)) / k, shape[1], fill_mode.value);
    const Places places(images, fill_value);
    const auto weight = [&](const Expression& share) {
      return Expression{b, b.expand_dims(share, -1)}.cast(images.dtype());
    };
    const auto read = [&] {
      if (interpolation.value == "nearest") return places.at(rounded_half_away(in_y), rounded_half_away(in_x));
      const Expression left = floored(in_x), top = floored(in_y), right = left + 1.0, bottom = top + 1.0;
      const auto between = [&](const Expression& row) {
        return weight(right - in_x) * places.at(row, left) + weight(in_x - left) * places.at(row, right);
      };
      return weight(bottom - in_y) * between(top) + weight(in_y - top) * between(bottom);
    };
    const Expression out = read();
    return where({b, b.expand_dims(k == 0.0, -1)}, out.number(fill_value), out);
  }
  static std::int64_t checked_elements(const Shape& shape) { return shape.elements().value_or(kMostPlaces + 1); }

  // Maximum number of positions, because indices are int32.
  static constexpr std::int64_t kMostPlaces = std::int64_t{1} << 30;
  Choice interpolation{"bilinear", {"nearest", "bilinear"}};
  Choice fill_mode{"constant", {"constant", "nearest", "wrap", "reflect"}};
  AnyNumber fill_value{0};
  OpDataFormat data_format;
};

// ---- map_coordinates

inline constexpr std::array<std::string_view, 2> kCoordinateArguments = {"inputs", "coordinates"};

/// Reads the inputs at the positions coordinates[0], coordinates[1], … along their axes.
class MapCoordinates : public WithArguments<kCoordinateArguments> {
 public:
  void fields(Fields& f) override {
    f.required("order", order, 304);
    f("fill_mode", fill_mode, 304);
    f("fill_value", fill_value, 304);
    if (f.reading() && (order < 0 || order > 1)) f.config()["order"].fail("expected order 0 or 1, as in Keras");
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand inputs(call, "inputs"), coordinates(call, "coordinates");
    const Shape in = inputs.shape(), given = coordinates.shape();
    if (given.rank() < 2 || given[0] != in.rank())
      throw bad_input("coordinates {} do not fit inputs {}", given.str(), in.str());
    const Shape places = given.slice(1, given.rank());
    const DType dtype = inputs.own_dtype();
    if (!in.known() || !places.known()) return Call::result(filled(b, places, dtype));
    if (in.rank() > kMostAxes) throw bad_input("inputs of more than {} axes cannot be read here", kMostAxes);
    const Expression all{b, coordinates.as(as_floating(coordinates.own_dtype()))};
    std::vector<std::vector<Read>> reads;
    for (int axis = 0; axis < in.rank(); ++axis) {
      const ValueId one = sliced(b, all, 0, {axis, axis + 1, 1});
      reads.push_back(along({b, b.apply(graph::Reshape{places}, {one})}, in[axis]));
    }
    const Expression flat{b, b.reshape(inputs.value(), {kUnknown})};
    std::optional<Expression> sum;
    add_all(flat, in, reads, sum);
    const Expression out = is_floating(dtype) ? *sum : sum->unary(UnaryFn::round);
    return Call::result(out.cast(dtype));
  }

 private:
  static constexpr int kMostAxes = 8;
  /// A cell to read along an axis, and its weight; without a weight it is the only cell.
  struct Read {
    Expression cell;
    Expression inside;
    std::optional<Expression> weight;
  };

  [[nodiscard]] std::vector<Read> along(const Expression& at, Dim cells) const {
    if (order == 0) return {placed(at.unary(UnaryFn::round), cells, std::nullopt)};
    const Expression lower = floored(at), upper_weight = at - lower;
    return {placed(lower, cells, 1.0 - upper_weight), placed(lower + 1.0, cells, upper_weight)};
  }
  [[nodiscard]] Read placed(const Expression& at, Dim cells, std::optional<Expression> weight) const {
    const auto size = static_cast<double>(cells);
    const std::string& mode = fill_mode.value;
    Expression cell = at;
    if (mode == "wrap") {
      cell = at.binary(BinaryFn::mod, at.number(size));
    } else if (mode == "mirror" || mode == "reflect") {
      const Expression folded = abs(at).binary(BinaryFn::mod, at.number(2.0 * size));
      cell = where(folded < size, folded, (mode == "reflect" ? 2.0 * size - 1.0 : 2.0 * size) - folded);
    }
    const Expression inside = mode == "constant" ? within(at, size) : at == at;
    return {clipped(cell, 0.0, std::max(size - 1.0, 0.0)).cast(DType::int32), inside, weight};
  }

  /// Sums the weighted reads over all combinations of one cell for each axis.
  void add_all(const Expression& flat, const Shape& in, const std::vector<std::vector<Read>>& reads,
               std::optional<Expression>& sum) const {
    std::vector<std::size_t> chosen(reads.size(), 0);
    for (bool more = true; more;) {
      std::optional<Expression> index, inside, weight;
      for (std::size_t axis = 0; axis < reads.size(); ++axis) {
        const Read& read = reads[axis][chosen[axis]];
        index = index ? *index * static_cast<double>(in[static_cast<int>(axis)]) + read.cell : read.cell;
        inside = inside ? *inside & read.inside : read.inside;
        if (read.weight) weight = weight ? *weight * *read.weight : *read.weight;
      }
      Builder& b = *flat.builder;
      Expression value{b, b.apply(graph::Gather{0}, {flat, *index})};
      if (weight) value = value.cast(weight->dtype());
      if (fill_mode.value == "constant") value = where(*inside, value, value.number(fill_value));
      if (weight) value = *weight * value;
      sum = sum ? *sum + value : value;
      more = false;
      for (std::size_t axis = reads.size(); axis-- > 0 && !more;) {
        more = ++chosen[axis] < reads[axis].size();
        if (!more) chosen[axis] = 0;
      }
    }
  }

  std::int64_t order = 1;
  Choice fill_mode{"constant", {"constant", "nearest", "wrap", "mirror", "reflect"}};
  AnyNumber fill_value{0};
};

// ---- scale_and_translate

inline constexpr std::array<std::string_view, 4> kScaleArguments = {"images", "output_shape", "scale", "translation"};

/// Resizes axes with the factors `scale` and the offsets `translation`.
class ScaleAndTranslate : public WithArguments<kScaleArguments> {
 public:
  void fields(Fields& f) override {
    f.required("spatial_dims", spatial_dims);
    f.required("method", method);
    f("antialias", antialias);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Operand scale(call, "scale"), translation(call, "translation");
    const ValueId given = call.tensor("images")->id;
    const Shape shape = b.shape(given), wanted = output_shape(call);
    if (wanted.rank() != shape.rank()) throw bad_input("an output shape {} does not fit {}", wanted.str(), shape.str());
    const auto count = static_cast<Dim>(spatial_dims.items.size());
    if (scale.shape() != Shape{count} || translation.shape() != Shape{count})
      throw bad_input("scale {} and translation {} must have a number for each of {} axes", scale.shape().str(),
                      translation.shape().str(), count);
    const bool integers = !is_floating(b.dtype(given));
    Expression out{b, integers ? b.cast(given, DType::float32) : given};
    for (Dim i = 0; i < count; ++i) {
      const auto number = [&](const Operand& of) {
        const ValueId one = sliced(b, of.as(DType::float32), 0, {i, i + 1, 1});
        return Expression{b, b.apply(graph::Reshape{Shape{}}, {one})};
      };
      const int axis = axis_in(spatial_dims.items[static_cast<std::size_t>(i)], shape);
      const Dim in = shape[axis], size = wanted[axis];
      if (in == kUnknown) throw bad_input("the size of axis {} of {} must be known", axis, shape.str());
      const Expression shares = shares_of(b, in, size, number(scale), number(translation)).cast(out.dtype());
      const int last = shape.rank() - 1;
      const ValueId rows = moved(b, out, std::array{axis}, std::array{last});
      out = {b,
             moved(b, b.apply(graph::Linear{1, false, {}, false}, {rows, shares}), std::array{last}, std::array{axis})};
    }
    if (!integers) return Call::result(out);
    std::vector<int> all(static_cast<std::size_t>(shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) all[static_cast<std::size_t>(axis)] = axis;
    const Expression images{b, b.cast(given, DType::float32)};
    const auto extremum = [&](graph::ReduceFn fn) { return images.reduced({fn, all, false}); };
    const Expression whole =
        min(max(out.unary(UnaryFn::round), extremum(graph::ReduceFn::min)), extremum(graph::ReduceFn::max));
    return Call::result(whole.cast(b.dtype(given)));
  }

 private:
  static Shape output_shape(Call& call) {
    const auto* list = call.arg("output_shape").as<ArgList>();
    if (list == nullptr) throw bad_input("output_shape must be a list of integers");
    Shape out;
    for (const Arg& item : *list) {
      const auto* size = item.as<std::int64_t>();
      if (size == nullptr || *size < 0 || *size > kMaxSize) throw bad_input("output_shape must be a list of integers");
      out.push_back(*size);
    }
    return out;
  }

  /// Returns the weights of the input cells for each of `size` output cells: (in, size).
  [[nodiscard]] Expression shares_of(Builder& b, Dim in, Dim size, const Expression& scale,
                                     const Expression& translation) const {
    const Shape shape{in, size};
    const Expression inverse = scale.number(1.0) / scale;
    const Expression wide = antialias ? max(inverse, inverse.number(1.0)) : inverse.number(1.0);
    const Expression to = counted(b, shape, 1, DType::float32), from = counted(b, shape, 0, DType::float32);
    const Expression at = (to + 0.5) * inverse - translation * inverse + -0.5;
    const Expression x = abs(at - from) / wide;
    const Expression shares = window(x);
    const Expression sum = shares.reduced({graph::ReduceFn::sum, {0}, true});
    constexpr double kLeast = 1000.0 * 1.1920928955078125e-07;
    const Expression even = where(abs(sum) > kLeast, shares / where(sum == 0.0, sum.number(1.0), sum), x.number(0.0));
    const Expression inside = (at.number(-0.5) <= at) & (at <= at.number(static_cast<double>(in) - 0.5));
    return where(inside, even, x.number(0.0));
  }
  [[nodiscard]] Expression window(const Expression& x) const {
    const std::string& kind = method.value;
    if (kind == "linear" || kind == "bilinear" || kind == "trilinear") return max(x.number(0.0), 1.0 - x);
    if (kind == "cubic" || kind == "bicubic" || kind == "tricubic") {
      const Expression near = ((x * 1.5 + -2.5) * x) * x + 1.0;
      const Expression far = ((x * -0.5 + 2.5) * x + -4.0) * x + 2.0;
      return where(x < 1.0, near, where(x < 2.0, far, x.number(0.0)));
    }
    const double radius = kind == "lanczos3" ? 3.0 : 5.0;
    const Expression angle = x * std::numbers::pi;
    const Expression share = angle.unary(UnaryFn::sin) * (angle / radius).unary(UnaryFn::sin) * radius;
    const Expression sinc = where(x > 1e-3, share / where(x == 0.0, x.number(1.0), square(angle)), x.number(1.0));
    return where(x > radius, x.number(0.0), sinc);
  }

  Tuple spatial_dims;
  Choice method{"linear", {"linear", "bilinear", "trilinear", "cubic", "bicubic", "tricubic", "lanczos3", "lanczos5"}};
  bool antialias = true;
};

constexpr std::array kWarpOperations = {
    unnamed_before_311("AffineTransform", make_layer<AffineTransform>, 300, kImageOps),
    unnamed_before_311("MapCoordinates", make_layer<MapCoordinates>, 300, kImageOps),
    ClassInfo{"ScaleAndTranslate", make_layer<ScaleAndTranslate>, 312, kImageOps},
};

}  // namespace

Family warp_operations() { return kWarpOperations; }

}  // namespace attn::keras
