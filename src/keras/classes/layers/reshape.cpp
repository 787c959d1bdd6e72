// Layers that only move data: reshape, permute, repeat, pad, crop, upsample (keras/src/layers/reshaping).
#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "classes/layers/layers.h"
#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Returns the product of dimensions; unknown if one is unknown.
Dim product(const Shape& shape) {
  if (!shape.known()) return kUnknown;
  const auto elements = shape.elements();
  if (!elements) throw bad_input("{} has more elements than can be counted", shape.str());
  return *elements;
}

class Reshape : public Layer {
 public:
  void fields(Fields& f) override {
    if (!f.reading()) {
      Json list = Json::array();
      for (const auto& dim : target_shape) list.push_back(dim ? Json(*dim) : Json());
      f.put("target_shape", python_tuple(std::move(list)));
      return;
    }
    const auto ref = f.take("target_shape");
    if (!ref) f.config().fail("the key 'target_shape' is missing");
    ref->expect_dimensions();
    for (const Ref& dim : ref->elements())
      target_shape.push_back(dim.is_null() ? std::nullopt : std::optional(dim.integer_from(-1)));
    if (std::count(target_shape.begin(), target_shape.end(), std::optional<Dim>(-1)) > 1)
      ref->fail("only one dimension can be -1");
  }

  Arg call(Call& call) override {
    const TensorPtr input = call.tensor("inputs");
    return Call::result(call.builder().reshape(input->id, target(call.shape(input))));
  }

  /// In Keras's compute_reshape_output_shape, a null in the target also makes -1 unknown.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("inputs");
    const bool open = std::any_of(target_shape.begin(), target_shape.end(), [](const auto& dim) { return !dim; });
    return {{open ? with_unknowns(in[0]) : target(in)}};
  }

 private:
  /// Returns the shape of the result for an input, as far as it is known.
  [[nodiscard]] Shape target(const Shape& in) const {
    const Shape sample = in.slice(1, in.rank());
    Shape out = {in[0]};
    std::optional<int> open;
    Shape given;
    for (const auto& dim : target_shape) {
      if (!dim || *dim == -1) {
        if (open) return with_unknowns(in[0]);
        open = out.rank();
        out.push_back(kUnknown);
      } else {
        out.push_back(*dim);
        given.push_back(*dim);
      }
    }
    if (!sample.known()) return out;
    const Dim elements = product(sample), known = product(given);
    const bool fits = open ? known != 0 && elements % known == 0 : known == elements;
    if (!fits) throw bad_input("an input of {} cannot be reshaped to {}", in.str(), with_unknowns(in[0]).str());
    if (open) out[*open] = elements / known;
    return out;
  }
  [[nodiscard]] Shape with_unknowns(Dim batch) const {
    Shape out = {batch};
    for (const auto& dim : target_shape) out.push_back(dim.value_or(kUnknown));
    return out;
  }

  std::vector<std::optional<Dim>> target_shape;
};

/// Permutes the axes after the batch, which are counted from 1.
class Permute : public Layer {
 public:
  void fields(Fields& f) override { f.required("dims", dims); }
  void check(const Ref& config) override {
    auto sorted = dims.items;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<std::int64_t>(i) + 1)
        config["dims"].fail("expected each of 1, 2, … once, got " + config["dims"].kind());
  }

  Arg call(Call& call) override {
    const TensorPtr input = call.tensor("inputs");
    expect_rank(call.shape(input), static_cast<int>(dims.items.size()) + 1);
    std::vector<int> order = {0};
    for (const std::int64_t dim : dims.items) order.push_back(static_cast<int>(dim));
    return Call::result(call.builder().transpose(input->id, std::move(order)));
  }

 private:
  Tuple dims;
};

/// Reshapes (B, …) to (B, D).
class Flatten : public Layer {
 public:
  void fields(Fields& f) override { format.field(f); }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    ValueId x = call.tensor("inputs")->id;
    const Shape in = b.shape(x);
    if (in.rank() == 0) throw bad_input("expected an input of rank 1 or more, got ()");
    if (in.rank() > 1) x = format.channels_last(b, x);
    return Call::result(b.reshape(x, {in[0], product(in.slice(1, in.rank()))}));
  }

 private:
  DataFormat format;
};

/// Repeats (B, D) to (B, n, D).
class RepeatVector : public Layer {
 public:
  void fields(Fields& f) override { f.required("n", n); }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const Shape in = b.shape(x);
    expect_rank(in, 2);
    return Call::result(b.apply(graph::Broadcast{{in[0], n, in[1]}}, {b.expand_dims(x, 1)}));
  }

 private:
  Positive n;
};

/// Pads the spatial axes with zeros.
class ZeroPadding : public Layer {
 public:
  explicit ZeroPadding(int rank) : rank_(rank), padding(rank, 1) {}
  void fields(Fields& f) override {
    padding.field(f, "padding");
    format.field(f, rank_ == 1 ? 305 : kOldest);
  }

  Arg call(Call& call) override {
    const ValueId x = call.tensor("inputs")->id;
    expect_rank(call.builder().shape(x), rank_ + 2);
    graph::Pad pad;
    pad.before.assign(static_cast<std::size_t>(rank_) + 2, 0);
    pad.after = pad.before;
    for (int i = 0; i < rank_; ++i) {
      const auto axis = static_cast<std::size_t>(format.first_spatial_axis()) + static_cast<std::size_t>(i);
      std::tie(pad.before[axis], pad.after[axis]) = padding.sides[static_cast<std::size_t>(i)];
    }
    return Call::result(call.builder().apply(pad, {x}));
  }

 private:
  int rank_;
  Margins padding;
  DataFormat format;
};

/// Removes the first and last cells of the spatial axes.
class Cropping : public Layer {
 public:
  explicit Cropping(int rank) : rank_(rank), cropping(rank, rank == 2 ? 0 : 1) {}
  void fields(Fields& f) override {
    cropping.field(f, "cropping");
    if (rank_ > 1) format.field(f);  // Cropping1D has no data_format
  }

  Arg call(Call& call) override {
    const ValueId x = call.tensor("inputs")->id;
    const Shape in = call.builder().shape(x);
    expect_rank(in, rank_ + 2);
    graph::Slice slice;
    slice.ranges.resize(static_cast<std::size_t>(rank_) + 2);
    for (int i = 0; i < rank_; ++i) {
      const int axis = format.first_spatial_axis() + i;
      const auto [before, after] = cropping.sides[static_cast<std::size_t>(i)];
      if (in[axis] != kUnknown && (before >= in[axis] || after >= in[axis] - before))
        throw bad_input("cropping {} and {} leaves nothing of axis {} of {}", before, after, axis, in.str());
      graph::Range& range = slice.ranges[static_cast<std::size_t>(axis)];
      range.start = before;
      if (after > 0) range.stop = -after;
    }
    return Call::result(call.builder().apply(slice, {x}));
  }

 private:
  int rank_;
  Margins cropping;
  DataFormat format;
};

/// Repeats every cell `size` times along each spatial axis.
class UpSampling : public Layer {
 public:
  explicit UpSampling(int rank) : rank_(rank), size{std::vector<std::int64_t>(static_cast<std::size_t>(rank), 2)} {}
  void fields(Fields& f) override {
    if (rank_ == 1) {
      Positive one = size.items.front();
      f("size", one);
      size.items.front() = one;
      return;
    }
    f("size", size);
    format.field(f);
    if (rank_ == 2) f("interpolation", interpolation);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    ValueId x = call.tensor("inputs")->id;
    expect_rank(b.shape(x), rank_ + 2);
    if (interpolation.value != "nearest") return Call::result(interpolated(b, x));
    for (int i = 0; i < rank_; ++i) {
      // (…, T, …) → (…, T, 1, …) → (…, T, n, …) → (…, T·n, …)
      const int axis = format.first_spatial_axis() + i;
      const std::int64_t times = size.items[static_cast<std::size_t>(i)];
      Shape out = b.shape(x);
      out[axis] = enlarged(out[axis], times);
      x = b.expand_dims(x, axis + 1);
      Shape repeated = b.shape(x);
      repeated[axis + 1] = times;
      x = b.reshape(b.apply(graph::Broadcast{repeated}, {x}), out);
    }
    return Call::result(x);
  }

 private:
  static Dim enlarged(Dim dim, std::int64_t times) {
    if (dim == kUnknown) return kUnknown;
    const auto out = checked_mul(dim, times);
    if (!out) throw bad_input("an axis of {} cannot be enlarged {} times", dim, times);
    return *out;
  }
  [[nodiscard]] ValueId interpolated(graph::Builder& b, ValueId x) const {
    for (int i = 0; i < rank_; ++i) {
      const int axis = format.first_spatial_axis() + i;
      const Dim cells = enlarged(b.shape(x)[axis], size.items[static_cast<std::size_t>(i)]);
      x = resized(b, x, axis, cells, interpolation.value);
    }
    return x;
  }

  int rank_;
  Window size;
  DataFormat format;
  Choice interpolation{"nearest", {kInterpolations.begin(), kInterpolations.end()}};
};

constexpr std::array kReshapeClasses = {
    ClassInfo{.name = "Reshape", .make = make_layer<Reshape>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "Permute", .make = make_layer<Permute>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "Flatten", .make = make_layer<Flatten>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "RepeatVector", .make = make_layer<RepeatVector>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "ZeroPadding1D", .make = make_with<ZeroPadding, 1>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "ZeroPadding2D", .make = make_with<ZeroPadding, 2>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "ZeroPadding3D", .make = make_with<ZeroPadding, 3>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "Cropping1D", .make = make_with<Cropping, 1>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "Cropping2D", .make = make_with<Cropping, 2>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "Cropping3D", .make = make_with<Cropping, 3>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "UpSampling1D", .make = make_with<UpSampling, 1>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "UpSampling2D", .make = make_with<UpSampling, 2>, .since = 300, .role = Role::arrangement},
    ClassInfo{.name = "UpSampling3D", .make = make_with<UpSampling, 3>, .since = 300, .role = Role::arrangement},
};

}  // namespace

Family reshape_classes() { return kReshapeClasses; }

}  // namespace attn::keras
