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

/// The greatest or the mean of each window.
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

/// The greatest or the mean over all spatial axes. The mean over one axis leaves masked steps out.
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
      // Σ of the steps that are kept over their number: nothing is kept, nothing is known (0/0).
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

/// The greatest or the mean of as many parts of each spatial axis as its result has cells.
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

constexpr std::array kPoolingRows = {
    LayerRow{"AdaptiveMaxPooling1D", "keras.layers", make_with<AdaptivePooling, 1, Mode::maximum>},
    LayerRow{"AdaptiveMaxPooling2D", "keras.layers", make_with<AdaptivePooling, 2, Mode::maximum>},
    LayerRow{"AdaptiveMaxPooling3D", "keras.layers", make_with<AdaptivePooling, 3, Mode::maximum>},
    LayerRow{"AdaptiveAveragePooling1D", "keras.layers", make_with<AdaptivePooling, 1, Mode::average>},
    LayerRow{"AdaptiveAveragePooling2D", "keras.layers", make_with<AdaptivePooling, 2, Mode::average>},
    LayerRow{"AdaptiveAveragePooling3D", "keras.layers", make_with<AdaptivePooling, 3, Mode::average>},
    LayerRow{"MaxPooling1D", "keras.layers", make_with<Pooling, 1, Mode::maximum>},
    LayerRow{"MaxPooling2D", "keras.layers", make_with<Pooling, 2, Mode::maximum>},
    LayerRow{"MaxPooling3D", "keras.layers", make_with<Pooling, 3, Mode::maximum>},
    LayerRow{"AveragePooling1D", "keras.layers", make_with<Pooling, 1, Mode::average>},
    LayerRow{"AveragePooling2D", "keras.layers", make_with<Pooling, 2, Mode::average>},
    LayerRow{"AveragePooling3D", "keras.layers", make_with<Pooling, 3, Mode::average>},
    LayerRow{"GlobalMaxPooling1D", "keras.layers", make_with<GlobalPooling, 1, Mode::maximum>},
    LayerRow{"GlobalMaxPooling2D", "keras.layers", make_with<GlobalPooling, 2, Mode::maximum>},
    LayerRow{"GlobalMaxPooling3D", "keras.layers", make_with<GlobalPooling, 3, Mode::maximum>},
    LayerRow{"GlobalAveragePooling1D", "keras.layers", make_with<GlobalPooling, 1, Mode::average>},
    LayerRow{"GlobalAveragePooling2D", "keras.layers", make_with<GlobalPooling, 2, Mode::average>},
    LayerRow{"GlobalAveragePooling3D", "keras.layers", make_with<GlobalPooling, 3, Mode::average>},
};

}  // namespace

Family pooling_rows() { return kPoolingRows; }

}  // namespace attn::keras
