// Pooling over windows and over whole axes (keras/src/layers/pooling).
#include <array>

#include "classes/layers/layers.h"
#include "classes/layers/resampling.h"
#include "classes/layers/spatial.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ReduceFn;
using graph::ValueId;

enum class Mode : std::uint8_t { maximum, average };

/// The maximum or mean of each window.
class Pooling : public Layer {
 public:
  Pooling(int rank, Mode mode)
      : rank_(rank), mode_(mode), pool_size{std::vector<std::int64_t>(static_cast<std::size_t>(rank), 2)} {}

  void fields(Fields& f) override {
    if (mode_ == Mode::average) {
      f.required("pool_size", pool_size);
    } else {
      f("pool_size", pool_size);
    }
    f("padding", padding);
    if (f.reading()) {
      strides = pool_size;
      if (const auto ref = f.take("strides"); ref && !ref->is_null()) f("strides", strides);
    } else {
      f("strides", strides);
    }
    format.field(f);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    expect_rank(b.shape(x), rank_ + 2);
    const graph::Pool pool{mode_ == Mode::average, pool_size.items, strides.items,
                           padding.value == "same" ? graph::Padding::same : graph::Padding::valid};
    return Call::result(format.as_given(b, b.apply(pool, {format.channels_last(b, x)})));
  }

 private:
  int rank_;
  Mode mode_;
  Window pool_size, strides;
  Choice padding{"valid", {"valid", "same"}};
  DataFormat format;
};

/// The maximum or mean over all spatial axes. A mean over one axis ignores masked steps.
class GlobalPooling : public Layer {
 public:
  GlobalPooling(int rank, Mode mode) : rank_(rank), mode_(mode) {}

  void fields(Fields& f) override {
    format.field(f);
    f("keepdims", keepdims);
  }
  [[nodiscard]] bool supports_masking() const override { return masked(); }
  [[nodiscard]] Masks compute_mask(Call&, const Masks&) override { return {}; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "mask"};
    return std::span(kNames).first(masked() ? 2 : 1);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    expect_rank(b.shape(x), rank_ + 2);
    std::vector<int> axes;
    for (int i = 0; i < rank_; ++i) axes.push_back(format.first_spatial_axis() + i);
    if (mode_ == Mode::maximum) return Call::result(b.apply(graph::Reduce{ReduceFn::max, axes, keepdims}, {x}));
    if (const TensorPtr mask = masked() ? call.optional_tensor("mask") : nullptr) {
      // Divides the sum of the kept steps by their number; 0/0 if no step is kept.
      const ValueId kept =
          b.expand_dims(b.cast(mask->id, DType::boolean), format.channel_axis(b.shape(x).rank()));  // (B, T, 1)
      const graph::Reduce sum{ReduceFn::sum, axes, keepdims};
      const ValueId total = b.apply(sum, {b.apply(graph::Select{}, {kept, x, b.scalar_like(x, 0.0)})});
      return Call::result(b.binary(BinaryFn::divide, total, b.apply(sum, {b.cast(kept, b.dtype(x))})));
    }
    return Call::result(b.apply(graph::Reduce{ReduceFn::mean, axes, keepdims}, {x}));
  }

 private:
  [[nodiscard]] bool masked() const { return rank_ == 1 && mode_ == Mode::average; }

  int rank_;
  Mode mode_;
  DataFormat format;
  bool keepdims = false;
};

/// The maximum or mean of equal parts of each spatial axis, one part for each output cell.
class AdaptivePooling : public Layer {
 public:
  AdaptivePooling(int rank, Mode mode)
      : rank_(rank), mode_(mode), output_size{std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1)} {}

  void fields(Fields& f) override {
    f.required("output_size", output_size);
    format.field(f);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    expect_rank(b.shape(x), rank_ + 2);
    return Call::result(pooled(b, x, format.first_spatial_axis(), output_size.items, mode_ == Mode::average));
  }

  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    Shape out = call.shape("inputs");
    for (int i = 0; i < rank_; ++i)
      out[format.first_spatial_axis() + i] = output_size.items[static_cast<std::size_t>(i)];
    return {{out}};
  }

 private:
  int rank_;
  Mode mode_;
  Window output_size;
  DataFormat format;
};

constexpr ClassInfo pooling(std::string_view name, LayerPtr (*make)(), Since since) {
  return {.name = name, .make = make, .since = since, .role = Role::pooling};
}

constexpr std::array kPoolingClasses = {
    pooling("AdaptiveMaxPooling1D", make_with<AdaptivePooling, 1, Mode::maximum>, 313),
    pooling("AdaptiveMaxPooling2D", make_with<AdaptivePooling, 2, Mode::maximum>, 313),
    pooling("AdaptiveMaxPooling3D", make_with<AdaptivePooling, 3, Mode::maximum>, 313),
    pooling("AdaptiveAveragePooling1D", make_with<AdaptivePooling, 1, Mode::average>, 313),
    pooling("AdaptiveAveragePooling2D", make_with<AdaptivePooling, 2, Mode::average>, 313),
    pooling("AdaptiveAveragePooling3D", make_with<AdaptivePooling, 3, Mode::average>, 313),
    pooling("MaxPooling1D", make_with<Pooling, 1, Mode::maximum>, 300),
    pooling("MaxPooling2D", make_with<Pooling, 2, Mode::maximum>, 300),
    pooling("MaxPooling3D", make_with<Pooling, 3, Mode::maximum>, 300),
    pooling("AveragePooling1D", make_with<Pooling, 1, Mode::average>, 300),
    pooling("AveragePooling2D", make_with<Pooling, 2, Mode::average>, 300),
    pooling("AveragePooling3D", make_with<Pooling, 3, Mode::average>, 300),
    pooling("GlobalMaxPooling1D", make_with<GlobalPooling, 1, Mode::maximum>, 300),
    pooling("GlobalMaxPooling2D", make_with<GlobalPooling, 2, Mode::maximum>, 300),
    pooling("GlobalMaxPooling3D", make_with<GlobalPooling, 3, Mode::maximum>, 300),
    pooling("GlobalAveragePooling1D", make_with<GlobalPooling, 1, Mode::average>, 300),
    pooling("GlobalAveragePooling2D", make_with<GlobalPooling, 2, Mode::average>, 300),
    pooling("GlobalAveragePooling3D", make_with<GlobalPooling, 3, Mode::average>, 300),
};

}  // namespace

Family pooling_classes() { return kPoolingClasses; }

}  // namespace attn::keras
