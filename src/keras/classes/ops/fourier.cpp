// Fourier transforms along long axes. An axis of N = P·Q elements is split into P transforms of Q elements after Q
// transforms of P elements, with twiddle factors in between (Gentleman and Sande, "Fast Fourier transforms for fun and
// profit", 1966). If N has no such divisor, the transform is a convolution by transforms of a power of two (Bluestein,
// "A linear filtering approach to the computation of the discrete Fourier transform", 1970).
#include "classes/ops/fourier.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "classes/ops/array/layout.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr Dim kDirect = 128;               // axes up to this size are one matrix product
constexpr Dim kDirectPrime = 512;          // axes without a small enough divisor are one matrix product up to this size
constexpr Dim kLongest = Dim{1} << 24;     // maximum size of an axis
constexpr Dim kMostFramed = Dim{1} << 26;  // maximum elements of all frames of a signal
constexpr Dim kMostOverlaps = Dim{1} << 10;  // maximum frames that overlap in one element

/// Returns e^(−2πi·j/N).
std::complex<double> root(Dim j, Dim n) {
  const double angle = -2.0 * std::numbers::pi * static_cast<double>(j % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

Complex constant(const Expression& like, const Shape& shape, const std::vector<std::complex<double>>& values) {
  Tensor real(like.dtype(), shape), imaginary(like.dtype(), shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    real.set(static_cast<std::int64_t>(i), values[i].real());
    imaginary.set(static_cast<std::int64_t>(i), values[i].imag());
  }
  Builder& b = *like.builder;
  return {{b, b.constant(std::move(real))}, Expression{b, b.constant(std::move(imaginary))}};
}

Expression linear(const Expression& x, const Expression& kernel) {
  return {*x.builder, x.builder->apply(graph::Linear{1, false, {}, false}, {x, kernel})};
}

/// Returns the complex product of x and y by `times`, which is a bilinear function of real tensors.
template <typename Times>
Complex product(const Complex& x, const Complex& y, Times times) {
  if (!x.imaginary) return {times(x.real, y.real), times(x.real, *y.imaginary)};
  return {times(x.real, y.real) - times(*x.imaginary, *y.imaginary),
          times(x.real, *y.imaginary) + times(*x.imaginary, y.real)};
}
Complex by_cell(const Complex& x, const Complex& y) {
  return product(x, y, [](const Expression& a, const Expression& b) { return a * b; });
}

/// Applies a layout function to the real and the imaginary part.
template <typename Step>
Complex both(const Complex& x, Step step) {
  return {step(x.real), x.imaginary ? std::optional(step(*x.imaginary)) : std::nullopt};
}
Complex conjugate(const Complex& x) { return {x.real, x.imaginary ? std::optional(-*x.imaginary) : std::nullopt}; }

/// Swaps the last two axes.
Expression swapped(const Expression& x) {
  std::vector<int> order(static_cast<std::size_t>(x.shape().rank()));
  std::iota(order.begin(), order.end(), 0);
  std::iter_swap(order.end() - 1, order.end() - 2);
  return {*x.builder, x.builder->transpose(x, order)};
}
Expression reshaped(const Expression& x, Shape shape) {
  return {*x.builder, x.builder->apply(graph::Reshape{std::move(shape)}, {x})};
}
Expression last(const Expression& x, graph::Range range) {
  return {*x.builder, sliced(*x.builder, x, x.shape().rank() - 1, range)};
}
Expression padded(const Expression& x, int axis, Dim before, Dim after,
                  graph::PadMode mode = graph::PadMode::constant) {
  if (before == 0 && after == 0) return x;
  graph::Pad pad{mode, {}, {}, 0.0};
  pad.before.assign(static_cast<std::size_t>(x.shape().rank()), 0);
  pad.after = pad.before;
  pad.before[static_cast<std::size_t>(axis)] = before;
  pad.after[static_cast<std::size_t>(axis)] = after;
  return {*x.builder, x.builder->apply(pad, {x})};
}
/// Cuts or zero-pads the last axis to `size` elements.
Expression sized(const Expression& x, Dim size) {
  const Dim given = x.shape().back();
  if (given == size) return x;
  return given > size ? last(x, {0, size, 1}) : padded(x, x.shape().rank() - 1, 0, size - given);
}
/// Returns the leading axes of x followed by `behind`.
Shape with_last(const Expression& x, const Shape& behind) {
  const Shape shape = x.shape();
  Shape out = shape.slice(0, shape.rank() - 1);
  out.append(behind);
  return out;
}

/// Computes the first `count` results by one matrix product.
Complex direct(const Complex& x, Dim count) {
  const Dim size = x.real.shape().back();
  std::vector<std::complex<double>> roots;
  for (Dim n = 0; n < size; ++n)
    for (Dim k = 0; k < count; ++k) roots.push_back(root(n * k, size));
  return product(x, constant(x.real, {size, count}, roots), linear);
}

/// Returns the largest divisor up to kDirect and √size; 1 if there is none.
Dim divisor_of(Dim size) {
  for (Dim d = std::min(kDirect, static_cast<Dim>(std::sqrt(static_cast<double>(size)))); d > 1; --d)
    if (size % d == 0) return d;
  return 1;
}

/// The Fourier transform of constants on the host, in place; the number of `values` is a power of two.
void transform(std::vector<std::complex<double>>& values) {
  const std::size_t half = values.size() / 2;
  if (half == 0) return;
  std::vector<std::complex<double>> even(half), odd(half);
  for (std::size_t i = 0; i < half; ++i) {
    even[i] = values[2 * i];
    odd[i] = values[2 * i + 1];
  }
  transform(even);
  transform(odd);
  for (std::size_t k = 0; k < half; ++k) {
    const auto turned = root(static_cast<Dim>(k), static_cast<Dim>(values.size())) * odd[k];
    values[k] = even[k] + turned;
    values[k + half] = even[k] - turned;
  }
}

/// Because −nk = ((k − n)² − n² − k²)/2, the transform is a convolution with e^(πi·m²/N) between two multiplications.
Complex by_convolution(const Complex& x) {
  const Dim size = x.real.shape().back();
  Dim wide = 1;
  while (wide < 2 * size - 1) wide *= 2;
  std::vector<std::complex<double>> chirp, kernel(static_cast<std::size_t>(wide));
  for (Dim n = 0; n < size; ++n) {
    chirp.push_back(root(n * n, 2 * size));
    kernel[static_cast<std::size_t>(n)] = kernel[static_cast<std::size_t>((wide - n) % wide)] = std::conj(chirp.back());
  }
  transform(kernel);
  const Complex turn = constant(x.real, {size}, chirp);
  const Complex spread = both(by_cell(x, turn), [&](const Expression& part) { return sized(part, wide); });
  const Complex met = inverse_fourier(by_cell(fourier(spread), constant(x.real, {wide}, kernel)));
  return by_cell(both(met, [&](const Expression& part) { return sized(part, size); }), turn);
}

Expression divided(const Expression& x, Dim by) { return x * (1.0 / static_cast<double>(by)); }

}  // namespace

Complex fourier(const Complex& x) {
  const Dim size = x.real.shape().back();
  if (size == kUnknown) return {x.real, x.real};  // for summaries: only the shape is valid
  if (size < 1 || size > kLongest) throw bad_input("an axis of {} cells has no Fourier transform here", size);
  if (size <= kDirect) return direct(x, size);
  const Dim p = divisor_of(size);
  if (p == 1) return size <= kDirectPrime ? direct(x, size) : by_convolution(x);
  // Element n = Q·n₁ + n₂ contributes to result k = k₁ + P·k₂.
  const Dim q = size / p;
  const Complex columns = both(x, [&](const Expression& part) {
    return swapped(reshaped(part, with_last(part, {p, q})));
  });
  std::vector<std::complex<double>> turns;
  for (Dim n = 0; n < q; ++n)
    for (Dim k = 0; k < p; ++k) turns.push_back(root(n * k, size));
  const Complex rows = by_cell(direct(columns, p), constant(x.real, {q, p}, turns));
  return both(fourier(both(rows, swapped)),
              [&](const Expression& part) { return reshaped(swapped(part), x.real.shape()); });
}

Complex inverse_fourier(const Complex& x) {
  const Dim size = x.real.shape().back();
  return both(conjugate(fourier(conjugate(x))), [&](const Expression& part) { return divided(part, size); });
}

Complex fourier_2d(const Complex& x) { return both(fourier(both(fourier(x), swapped)), swapped); }

Complex inverse_fourier_2d(const Complex& x) {
  return both(inverse_fourier(both(inverse_fourier(x), swapped)), swapped);
}

Complex real_fourier(const Expression& x, Dim length) {
  const Dim count = length == kUnknown ? kUnknown : length / 2 + 1;
  if (x.shape().back() == kUnknown) {
    const Expression unknown{*x.builder, x.builder->apply(graph::Fill{with_last(x, {count}), x.dtype(), 0.0}, {})};
    return {unknown, unknown};
  }
  if (length < 1) throw bad_input("a Fourier transform needs at least one element, got {}", length);
  const Complex signal{sized(x, length)};
  if (length <= kDirect) return direct(signal, count);
  return both(fourier(signal), [&](const Expression& part) { return last(part, {0, count, 1}); });
}

Expression inverse_real_fourier(const Complex& x, Dim length) {
  if (length == kUnknown || x.real.shape().back() == kUnknown)
    return {*x.real.builder, x.real.builder->apply(graph::Fill{with_last(x.real, {length}), x.real.dtype(), 0.0}, {})};
  if (length < 1) throw bad_input("a Fourier transform needs at least one element, got {}", length);
  const Dim count = length / 2 + 1;
  const Complex half = both(x, [&](const Expression& part) { return sized(part, count); });
  if (length <= kDirect) {
    // Each result also stands for its conjugate, except the first one, and the last one if `length` is even.
    std::vector<std::complex<double>> roots;
    for (Dim k = 0; k < count; ++k)
      for (Dim n = 0; n < length; ++n)
        roots.push_back(root(n * k, length) * ((k == 0 || 2 * k == length ? 1.0 : 2.0) / static_cast<double>(length)));
    const Complex kernel = constant(half.real, {count, length}, roots);
    return linear(half.real, kernel.real) + linear(*half.imaginary, *kernel.imaginary);
  }
  const auto mirrored = [&](const Expression& part) { return last(part, {length - count, 0, -1}); };
  Builder& b = *half.real.builder;
  const graph::Concat behind{half.real.shape().rank() - 1};
  const Complex whole_axis{
      {b, b.apply(behind, {half.real, mirrored(half.real)})},
      Expression{b, b.apply(behind, {*half.imaginary, -mirrored(*half.imaginary)})},
  };
  return divided(fourier(conjugate(whole_axis)).real, length);
}

Expression framed(const Expression& x, Dim length, Dim stride) {
  Builder& b = *x.builder;
  const Dim cells = x.shape().back();
  if (length < 1 || stride < 1) throw bad_input("sequences of {} cells, one every {}, cannot be cut", length, stride);
  if (cells == kUnknown) return {b, b.apply(graph::Fill{with_last(x, {kUnknown, length}), x.dtype(), 0.0}, {})};
  const Dim count = cells < length ? 0 : 1 + (cells - length) / stride;
  if (count > 0 && length > kMostFramed / count)
    throw bad_input("{} sequences of {} cells are too many; {} cells are the most", count, length, kMostFramed);
  Tensor cell(DType::int32, {count, length});
  for (Dim i = 0; i < count; ++i)
    for (Dim j = 0; j < length; ++j) cell.set(i * length + j, static_cast<double>(i * stride + j));
  return {b, b.apply(graph::Gather{x.shape().rank() - 1}, {x, b.constant(std::move(cell))})};
}

Expression overlapped(const Expression& frames, Dim stride) {
  const Shape shape = frames.shape();
  const Dim count = shape[-2], length = shape.back();
  Shape out = shape.slice(0, shape.rank() - 2);
  if (count == kUnknown || length == kUnknown) {
    out.push_back(kUnknown);
    return {*frames.builder, frames.builder->apply(graph::Fill{out, frames.dtype(), 0.0}, {})};
  }
  if (stride < 1) throw bad_input("sequences cannot begin every {} cells", stride);
  // A frame consists of `parts` parts with `stride` elements; those with equal index are adjacent.
  const Dim parts = (length + stride - 1) / stride;
  if (parts > kMostOverlaps) throw bad_input("{} overlapping sequences are too many", parts);
  const Expression wide = sized(frames, parts * stride);
  const int axis = shape.rank() - 2;
  std::optional<Expression> sum;
  for (Dim i = 0; i < parts; ++i) {
    const Expression part = padded(last(wide, {i * stride, (i + 1) * stride, 1}), axis, i, parts - 1 - i);
    sum = sum ? *sum + part : part;
  }
  out.push_back(times(count + parts - 1, stride));
  return sized(reshaped(*sum, out), count == 0 ? 0 : (count - 1) * stride + length);
}

FourierWindow::FourierWindow(const Json& json, Dim length) {
  if (json.is_null()) return;
  if (length < 1 || length > kLongest) throw bad_input("a window of {} cells cannot be made", length);
  if (json.is_string() && (json == "hann" || json == "hamming")) {
    // tf.signal's windows are periodic; for an odd length, the period is one less.
    const double mean = json == "hann" ? 0.5 : 0.54;
    const auto period = static_cast<double>(length % 2 == 0 ? length : length - 1);
    for (Dim i = 0; i < length; ++i)
      values_.push_back(
          length == 1 ? 1.0 : mean - (1.0 - mean) * std::cos(2.0 * std::numbers::pi * static_cast<double>(i) / period));
    return;
  }
  if (!json.is_array()) throw bad_input("the window must be 'hann', 'hamming', None or a list of numbers");
  for (const Json& value : json) {
    if (!value.is_number()) throw bad_input("a window is a list of numbers");
    values_.push_back(value.get<double>());
  }
  if (static_cast<Dim>(values_.size()) != length)
    throw bad_input("a window of {} cells does not fit sequences of {}", values_.size(), length);
}

std::vector<double> FourierWindow::within(Dim size) const {
  std::vector<double> out(static_cast<std::size_t>(size), 0.0);
  const std::size_t before = (out.size() - values_.size()) / 2;
  std::copy(values_.begin(), values_.end(), out.begin() + static_cast<std::ptrdiff_t>(before));
  return out;
}

namespace {

void check(const ShortTime& how) {
  if (how.fourier < how.sequence)
    throw bad_input("fft_length {} is less than sequence_length {}", how.fourier, how.sequence);
  if (how.sequence < 1 || how.stride < 1 || how.fourier > kLongest)
    throw bad_input("sequences of {} cells, one every {}, cannot be transformed", how.sequence, how.stride);
}

Expression row(const Expression& like, const std::vector<double>& values) {
  Tensor tensor(like.dtype(), {static_cast<Dim>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
  return {*like.builder, like.builder->constant(std::move(tensor))};
}

}  // namespace

Complex short_time_fourier(const Expression& x, const ShortTime& how, const FourierWindow& window) {
  check(how);
  const Dim margin = how.center && x.shape().back() != kUnknown ? how.fourier / 2 : 0;
  const Expression mirrored = padded(x, x.shape().rank() - 1, margin, margin, graph::PadMode::reflect);
  const Expression frames = framed(mirrored, how.fourier, how.stride);
  return real_fourier(window.given() ? frames * row(x, window.within(how.fourier)) : frames, how.fourier);
}

Expression inverse_short_time_fourier(const Complex& x, const ShortTime& how, const FourierWindow& window,
                                      std::optional<Dim> length) {
  check(how);
  Expression frames = inverse_real_fourier(x, how.fourier);
  if (window.given()) {
    // Divides by the sum of the squares of all windows that overlap (tf.signal.inverse_stft_window_fn).
    std::vector<double> inverse = window.within(how.fourier);
    std::vector<double> squares(static_cast<std::size_t>(how.stride), 0.0);
    for (std::size_t i = 0; i < inverse.size(); ++i) squares[i % squares.size()] += inverse[i] * inverse[i];
    for (std::size_t i = 0; i < inverse.size(); ++i) inverse[i] /= squares[i % squares.size()];
    frames = frames * row(frames, inverse);
  }
  const Expression signal = overlapped(frames, how.stride);
  const Dim start = how.center ? how.fourier / 2 : 0;
  if (signal.shape().back() == kUnknown) {
    if (!length) return signal;
    return {*signal.builder, signal.builder->apply(graph::Fill{with_last(signal, {*length}), signal.dtype(), 0.0}, {})};
  }
  if (length) return last(signal, {start, start + *length, 1});
  return how.center ? last(signal, {start, -start, 1}) : signal;
}

}  // namespace attn::keras
