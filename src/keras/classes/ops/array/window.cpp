// Convolution, pooling and image patches of keras.ops.
#include <algorithm>
#include <numeric>

#include "classes/ops/array/transposed.h"
#include "classes/ops/data_format.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns the list, or a single number repeated for all spatial axes.
std::vector<std::int64_t> per_axis(const Axes& given, int spatial) {
  std::vector<std::int64_t> out = as_list(given);
  if (std::holds_alternative<std::int64_t>(given))
    out.resize(static_cast<std::size_t>(std::max(spatial, 1)), out.front());
  return out;
}

graph::Padding padding_of(const Choice& choice) {
  return choice.value == "same" ? graph::Padding::same : graph::Padding::valid;
}

inline constexpr std::array<std::string_view, 1> kInputs = {"inputs"};

template <bool kAverage>
class PoolBy : public WithArguments<kInputs> {
 public:
  void fields(Fields& f) override {
    f.required("pool_size", pool_size);
    f("strides", strides);
    f("padding", padding);
    data_format.fields(f);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = data_format.to_last(b, call.tensor("inputs")->id);
    const int spatial = b.shape(x).rank() - 2;
    const graph::Pool pool{kAverage, per_axis(pool_size, spatial), per_axis(strides.value_or(pool_size), spatial),
                           padding_of(padding)};
    return Call::result(data_format.from_last(b, b.apply(pool, {x})));
  }

 private:
  Axes pool_size = std::int64_t{1};
  std::optional<Axes> strides;
  Choice padding{"valid", {"valid", "same"}};
  OpDataFormat data_format;
};

inline constexpr std::array<std::string_view, 2> kConvArguments = {"inputs", "kernel"};

class Conv : public WithArguments<kConvArguments> {
 public:
  void fields(Fields& f) override {
    f("strides", strides);
    f("padding", padding);
    data_format.fields(f);
    f("dilation_rate", dilation_rate);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = data_format.to_last(b, call.tensor("inputs")->id);
    return Call::result(data_format.from_last(b, convolved(b, x, Operand(call, "kernel").as(b.dtype(x)))));
  }

 protected:
  /// Convolves with `kernel` (window…, C/groups, F). A kernel with fewer input channels than x implies groups.
  ValueId convolved(Builder& b, ValueId x, ValueId kernel) const {
    const Shape in = b.shape(x), window = b.shape(kernel);
    if (in.rank() < 3 || window.rank() != in.rank())
      throw bad_input("the kernel {} does not fit the input {}", window.str(), in.str());
    const Dim channels = in[-1], per_group = window[-2];
    if (channels == kUnknown || per_group < 1 || channels % per_group != 0)
      throw bad_input("a kernel for {} channels does not fit {}", per_group, in.str());
    const int spatial = in.rank() - 2;
    return b.apply(graph::Conv{per_axis(strides, spatial),
                               per_axis(dilation_rate, spatial),
                               padding_of(padding),
                               channels / per_group,
                               false,
                               {}},
                   {x, kernel});
  }
  /// Convolves each channel separately, to M outputs. The kernel (window…, C, M) becomes (window…, 1, C·M) with C
  /// groups.
  ValueId depthwise(Builder& b, ValueId x, ValueId kernel) const {
    const Shape window = b.shape(kernel);
    if (window.rank() < 3 || !window.known() || b.shape(x).back() != window[-2])
      throw bad_input("the depthwise kernel {} does not fit the input {}", window.str(), b.shape(x).str());
    Shape grouped = window.slice(0, window.rank() - 2);
    grouped.push_back(1);
    grouped.push_back(times(window[-2], window[-1]));
    return convolved(b, x, b.reshape(kernel, grouped));
  }

  OpDataFormat data_format;

 private:
  Axes strides = std::int64_t{1}, dilation_rate = std::int64_t{1};
  Choice padding{"valid", {"valid", "same"}};
};

class DepthwiseConv : public Conv {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = data_format.to_last(b, call.tensor("inputs")->id);
    return Call::result(data_format.from_last(b, depthwise(b, x, Operand(call, "kernel").as(b.dtype(x)))));
  }
};

inline constexpr std::array<std::string_view, 3> kSeparableArguments = {"inputs", "depthwise_kernel",
                                                                        "pointwise_kernel"};

class SeparableConv : public Conv {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kSeparableArguments; }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = data_format.to_last(b, call.tensor("inputs")->id);
    const ValueId apart = depthwise(b, x, Operand(call, "depthwise_kernel").as(b.dtype(x)));
    const auto spatial = static_cast<std::size_t>(b.shape(x).rank() - 2);
    const std::vector<std::int64_t> ones(spatial, 1);
    const graph::Conv mix{ones, ones, graph::Padding::valid, 1, false, {}};
    return Call::result(
        data_format.from_last(b, b.apply(mix, {apart, Operand(call, "pointwise_kernel").as(b.dtype(x))})));
  }
};

inline constexpr std::array<std::string_view, 1> kPatchesOf = {"images"};

/// Extracts patches of images: (B, rows, columns, height·width·C).
class ExtractPatches : public WithArguments<kPatchesOf> {
 public:
  /// Since 3.14, this is the only config without a name.
  void config(Fields& f) override {
    if (f.reading()) f.ignored({"name"});
    if (!f.reading() && f.version() < 314) f("name", name);
    fields(f);
  }
  void fields(Fields& f) override {
    f.required("size", size);
    f("strides", strides);
    f("dilation_rate", dilation_rate);
    f("padding", padding);
    data_format.fields(f);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    ValueId x = data_format.image_to_last(b, call.tensor("images")->id);
    const bool one_image = b.shape(x).rank() == 3;
    if (one_image) x = b.expand_dims(x, 0);
    const Shape image = b.shape(x);
    const auto window = per_axis(size, 2), steps = per_axis(strides.value_or(size), 2);
    const auto dilation = per_axis(dilation_rate, 2);
    if (image.rank() != 4 || window.size() != 2 || steps.size() != 2 || dilation.size() != 2 || window[0] < 1 ||
        window[1] < 1)
      throw bad_input("patches of {} axes do not fit images {}", window.size(), image.str());
    const bool side_by_side =
        steps == window && dilation == std::vector<std::int64_t>{1, 1} && padding.value == "valid";
    x = side_by_side ? cut(b, x, window) : looked_up(b, x, window, steps, dilation);
    if (one_image) x = b.apply(graph::Reshape{b.shape(x).slice(1, 4)}, {x});
    return Call::result(data_format.image_from_last(b, x));
  }

 private:
  /// Extracts patches that do not overlap, by a reshape.
  static ValueId cut(Builder& b, ValueId x, const std::vector<std::int64_t>& window) {
    const Shape image = b.shape(x);
    const Dim height = window[0], width = window[1], channels = image[3];
    const auto count = [](Dim dim, Dim part) { return dim == kUnknown ? kUnknown : dim / part; };
    const Dim rows = count(image[1], height), columns = count(image[2], width);
    if (rows != kUnknown) x = sliced(b, x, 1, {0, rows * height, 1});
    if (columns != kUnknown) x = sliced(b, x, 2, {0, columns * width, 1});
    x = b.apply(graph::Reshape{{image[0], rows, height, columns, width, channels}}, {x});
    x = b.transpose(x, {0, 1, 3, 2, 4, 5});
    const Dim length = channels == kUnknown ? kUnknown : times(channels, times(height, width));
    return b.apply(graph::Reshape{{image[0], rows, columns, length}}, {x});
  }
  /// Extracts other patches, by a convolution whose kernel selects one cell for each output.
  [[nodiscard]] ValueId looked_up(Builder& b, ValueId x, const std::vector<std::int64_t>& window,
                                  const std::vector<std::int64_t>& steps,
                                  const std::vector<std::int64_t>& dilation) const {
    const Dim channels = b.shape(x)[3];
    if (channels == kUnknown) throw bad_input("the channels of images must be known, got {}", b.shape(x).str());
    const Dim length = times(channels, times(window[0], window[1]));
    if (length > kMostPicked) throw bad_input("patches of {} cells that overlap are too large", length);
    Tensor kernel(b.dtype(x), {window[0], window[1], channels, length});
    for (Dim i = 0; i < length; ++i) kernel.set(i * length + i, 1.0);
    return b.apply(graph::Conv{steps, dilation, padding_of(padding), 1, false, {}}, {x, b.constant(std::move(kernel))});
  }

  static constexpr Dim kMostPicked = 4096;
  Axes size = std::int64_t{1};
  std::optional<Axes> strides;
  Axes dilation_rate = std::int64_t{1};
  Choice padding{"valid", {"valid", "same"}};
  OpDataFormat data_format;
};

/// Converts blocks of an image to columns and back: (B, C, H, W) and (B, C·height·width, blocks).
class Blocks : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("kernel_size", kernel_size);
    f("dilation", dilation);
    f("padding", padding);
    f("stride", stride);
  }

 protected:
  struct Grid {
    std::vector<std::int64_t> kernel, dilation, padding, stride;
    [[nodiscard]] Dim cells() const { return times(kernel[0], kernel[1]); }
    /// Returns the number of blocks along an axis of `size`.
    [[nodiscard]] Dim count(std::size_t axis, Dim size) const {
      if (size == kUnknown) return kUnknown;
      const Dim left = size + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
      if (left < 0) throw bad_input("a block of {} does not fit an axis of {}", kernel[axis], size);
      return left / stride[axis] + 1;
    }
  };
  [[nodiscard]] Grid grid() const {
    const Grid out{per_axis(kernel_size, 2), per_axis(dilation, 2), per_axis(padding, 2), per_axis(stride, 2)};
    const auto fits = [](const std::vector<std::int64_t>& items, std::int64_t least) {
      return items.size() == 2 && std::all_of(items.begin(), items.end(),
                                              [&](std::int64_t item) { return item >= least && item <= kMostInBlock; });
    };
    if (!fits(out.kernel, 1) || !fits(out.dilation, 1) || !fits(out.padding, 0) || !fits(out.stride, 1))
      throw bad_input("kernel_size, dilation, padding and stride must be two integers from 0 or 1 to {}", kMostInBlock);
    return out;
  }
  /// Returns a kernel that is 1 where cell (row, column) of channel c is element (c·height + row)·width + column of a
  /// column.
  static Tensor picking(DType dtype, const Grid& grid, Dim channels) {
    const Dim height = grid.kernel[0], width = grid.kernel[1], length = times(channels, grid.cells());
    if (length > kMostInBlock)
      throw bad_input("blocks of {} cells are too large; {} are the most", length, kMostInBlock);
    Tensor kernel(dtype, {height, width, channels, length});
    for (Dim row = 0; row < height; ++row)
      for (Dim column = 0; column < width; ++column)
        for (Dim c = 0; c < channels; ++c)
          kernel.set(((row * width + column) * channels + c) * length + (c * height + row) * width + column, 1.0);
    return kernel;
  }
  static constexpr Dim kMostInBlock = 4096;

 private:
  Axes kernel_size = std::int64_t{1}, dilation = std::int64_t{1}, padding = std::int64_t{0}, stride = std::int64_t{1};
};

class Unfold : public Blocks {
 public:
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId given = call.tensor("x")->id;
    const Shape in = b.shape(given);
    if (in.rank() != 4 || in[1] == kUnknown) throw bad_input("blocks are cut of (B, C, H, W), got {}", in.str());
    const Grid cut = grid();
    const Dim rows = cut.count(0, in[2]), columns = cut.count(1, in[3]), length = times(in[1], cut.cells());
    const Dim count = rows == kUnknown || columns == kUnknown ? kUnknown : times(rows, columns);
    const graph::Pad around{
        graph::PadMode::constant, {0, cut.padding[0], cut.padding[1], 0}, {0, cut.padding[0], cut.padding[1], 0}, 0.0};
    const ValueId x = b.apply(around, {b.transpose(given, {0, 2, 3, 1})});
    const graph::Conv pick{cut.stride, cut.dilation, graph::Padding::valid, 1, false, {}};
    const ValueId blocks = b.apply(pick, {x, b.constant(picking(b.dtype(x), cut, in[1]))});
    return Call::result(b.apply(graph::Reshape{{in[0], length, count}}, {b.transpose(blocks, {0, 3, 1, 2})}));
  }
};

/// Adds blocks to an image; a cell that several blocks contain is their sum.
class Fold : public Blocks {
 public:
  void fields(Fields& f) override {
    f.required("output_size", output_size);
    Blocks::fields(f);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId given = call.tensor("x")->id;
    const Shape in = b.shape(given);
    const Grid cut = grid();
    const std::vector<std::int64_t> size = per_axis(output_size, 2);
    if (in.rank() != 3 || in[1] == kUnknown || in[1] % cut.cells() != 0 || size.size() != 2)
      throw bad_input("blocks of {} cells do not fit {}", cut.cells(), in.str());
    const Dim channels = in[1] / cut.cells();
    const Dim rows = cut.count(0, size[0]), columns = cut.count(1, size[1]);
    if (in[2] != kUnknown && in[2] != times(rows, columns))
      throw bad_input("{} by {} blocks are needed, x is {}", rows, columns, in.str());
    TransposedWindow window{cut.stride, cut.dilation, false, std::vector<std::int64_t>{}};
    graph::Slice inside = whole(4);
    for (std::size_t i = 0; i < 2; ++i) {
      const Dim reached = ((i == 0 ? rows : columns) - 1) * cut.stride[i] + cut.dilation[i] * (cut.kernel[i] - 1) + 1;
      window.output_padding->push_back(size[i] + 2 * cut.padding[i] - reached);
      inside.ranges[i + 1] = {cut.padding[i], cut.padding[i] + size[i], 1};
    }
    const ValueId apart = b.apply(graph::Reshape{{in[0], in[1], rows, columns}}, {given});
    const ValueId kernel = b.constant(picking(b.dtype(given), cut, channels));
    const ValueId image = transposed_convolution(b, b.transpose(apart, {0, 2, 3, 1}), kernel, window);
    return Call::result(b.transpose(b.apply(inside, {image}), {0, 3, 1, 2}));
  }

 private:
  Axes output_size = std::int64_t{1};
};

/// Moves blocks of cells into channels, or back.
template <bool kToDepth>
class BlockDepth : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("block_size", block_size);
    data_format.fields(f);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = data_format.to_last(b, call.tensor("x")->id);
    const Shape in = b.shape(x);
    if (in.rank() != 4 || in[3] == kUnknown) throw bad_input("blocks of cells do not fit {}", in.str());
    const Dim block = block_size, area = times(block, block);
    const auto part = [](Dim dim, Dim size) {
      if (dim != kUnknown && dim % size != 0) throw bad_input("{} cannot be divided by {}", dim, size);
      return dim == kUnknown ? kUnknown : dim / size;
    };
    Shape apart, out;
    if (kToDepth) {
      const Dim rows = part(in[1], block), columns = part(in[2], block);
      apart = {in[0], rows, block, columns, block, in[3]};
      out = {in[0], rows, columns, times(in[3], area)};
    } else {
      const Dim depth = part(in[3], area);
      apart = {in[0], in[1], in[2], block, block, depth};
      out = {in[0], times(in[1], block), times(in[2], block), depth};
    }
    const ValueId turned = b.transpose(b.apply(graph::Reshape{apart}, {x}), {0, 1, 3, 2, 4, 5});
    return Call::result(data_format.from_last(b, b.apply(graph::Reshape{out}, {turned})));
  }

 private:
  Positive block_size;
  OpDataFormat data_format;
};

constexpr std::array kWindowOperations = {
    ClassInfo{"DepthToSpace", make_layer<BlockDepth<false>>, 314, kNnOps},
    ClassInfo{"SpaceToDepth", make_layer<BlockDepth<true>>, 314, kNnOps},
    ClassInfo{"MaxPool", make_layer<PoolBy<false>>, 300, kNnOps},
    ClassInfo{"AveragePool", make_layer<PoolBy<true>>, 300, kNnOps},
    ClassInfo{"Conv", make_layer<Conv>, 300, kNnOps, Role::kernel},
    ClassInfo{"DepthwiseConv", make_layer<DepthwiseConv>, 300, kNnOps, Role::kernel},
    ClassInfo{"SeparableConv", make_layer<SeparableConv>, 300, kNnOps, Role::kernel},
    ClassInfo{"Unfold", make_layer<Unfold>, 312, kNnOps},
    ClassInfo{"Fold", make_layer<Fold>, 314, kNnOps},
    ClassInfo{"ExtractPatches", make_layer<ExtractPatches>, 300, kImageOps},
};

}  // namespace

Family window_operations() { return kWindowOperations; }

}  // namespace attn::keras
