// Fourier transforms as sums of the graph's own operations: products with small matrices of roots of unity, so that
// every backend runs them, and their gradients and their ONNX form follow.
#pragma once

#include <optional>
#include <string_view>

#include "classes/ops/expression.h"
#include "config/json.h"

namespace attn::keras {

/// Complex numbers as Keras has them: two real tensors of one shape. Without an imaginary part they are real.
struct Complex {
  Expression real;
  std::optional<Expression> imaginary{};
};

/// Σ_n x[n]·e^(−2πi·nk/N) along the last axis, whose size N must be known, for k < N. The results have an imaginary
/// part. Throws Error (bad_input) for an axis without cells and for one that is too long.
[[nodiscard]] Complex fourier(const Complex& x);
/// The same with e^(2πi·nk/N), divided by N.
[[nodiscard]] Complex inverse_fourier(const Complex& x);
/// Of the last two axes.
[[nodiscard]] Complex fourier_2d(const Complex& x);
[[nodiscard]] Complex inverse_fourier_2d(const Complex& x);

/// The first `length`/2 + 1 results for a real x, which is cut or filled with zeros to `length` cells before.
[[nodiscard]] Complex real_fourier(const Expression& x, Dim length);
/// The `length` real numbers whose real_fourier x is, which is cut or filled with zeros to `length`/2 + 1 cells before.
[[nodiscard]] Expression inverse_real_fourier(const Complex& x, Dim length);

/// Sequences of `length` cells, one every `stride`, along the last axis T: (…, T) → (…, F, length). F is unknown where
/// T is.
[[nodiscard]] Expression framed(const Expression& x, Dim length, Dim stride);
/// The way back: what overlaps is added. (…, F, length) → (…, (F − 1)·stride + length).
[[nodiscard]] Expression overlapped(const Expression& frames, Dim stride);

/// A window of short-time transforms: null for none, "hann", "hamming", or its numbers.
class FourierWindow {
 public:
  /// Reads it from its JSON. Throws Error (bad_input) for another name, or for another number of cells than `length`.
  FourierWindow(const Json& json, Dim length);
  [[nodiscard]] bool given() const { return !values_.empty(); }
  /// In the middle of `size` cells, the rest 0.
  [[nodiscard]] std::vector<double> within(Dim size) const;

 private:
  std::vector<double> values_;
};

/// How a signal is cut for its short-time transform.
struct ShortTime {
  Dim sequence = 0, stride = 0, fourier = 0;
  bool center = true;
};

/// (…, T) → (…, F, fourier/2 + 1), of windows of the signal, which is mirrored at its ends where they are centered.
[[nodiscard]] Complex short_time_fourier(const Expression& x, const ShortTime& how, const FourierWindow& window);
/// The signal of which x is that, of `length` cells, or of as many as there are.
[[nodiscard]] Expression inverse_short_time_fourier(const Complex& x, const ShortTime& how, const FourierWindow& window,
                                                    std::optional<Dim> length);

}  // namespace attn::keras
