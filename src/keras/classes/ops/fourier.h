// Fourier transforms expressed by existing graph operations: products with small matrices of roots of unity. Every
// backend, gradients and ONNX export support them without further code.
#pragma once

#include <optional>
#include <string_view>

#include "classes/ops/expression.h"
#include "config/json.h"

namespace attn::keras {

/// A complex tensor as in Keras: two real tensors of equal shape. Without an imaginary part it is real.
struct Complex {
  Expression real;
  std::optional<Expression> imaginary{};
};

/// Returns Σ_n x[n]·e^(−2πi·nk/N) for k < N along the last axis, whose size N must be known. The result has an
/// imaginary part. Throws Error (bad_input) for an empty axis and for one that is too long.
[[nodiscard]] Complex fourier(const Complex& x);
/// Returns the inverse of fourier() along the last axis: with e^(2πi·nk/N), divided by N.
[[nodiscard]] Complex inverse_fourier(const Complex& x);
/// Returns the Fourier transform over the last two axes.
[[nodiscard]] Complex fourier_2d(const Complex& x);
/// Returns the inverse Fourier transform over the last two axes.
[[nodiscard]] Complex inverse_fourier_2d(const Complex& x);

/// Returns the first `length`/2 + 1 results for a real x, which is first cut or zero-padded to `length` elements.
[[nodiscard]] Complex real_fourier(const Expression& x, Dim length);
/// Returns the inverse of real_fourier: `length` real numbers. x is first cut or zero-padded to `length`/2 + 1
/// elements.
[[nodiscard]] Expression inverse_real_fourier(const Complex& x, Dim length);

/// Returns frames of `length` elements, one every `stride`, along the last axis T: (…, T) → (…, F, length). F is
/// unknown if T is.
[[nodiscard]] Expression framed(const Expression& x, Dim length, Dim stride);
/// Returns the inverse of framed(), which adds overlapping parts: (…, F, length) → (…, (F − 1)·stride + length).
[[nodiscard]] Expression overlapped(const Expression& frames, Dim stride);

/// The window of a short-time transform: null for none, "hann", "hamming", or a list of numbers.
class FourierWindow {
 public:
  /// Reads a window from JSON. Throws Error (bad_input) for an unknown name, or for another number of elements than
  /// `length`.
  FourierWindow(const Json& json, Dim length);
  [[nodiscard]] bool given() const { return !values_.empty(); }
  /// Returns the window centered in `size` elements, with zeros around it.
  [[nodiscard]] std::vector<double> within(Dim size) const;

 private:
  std::vector<double> values_;
};

/// The frames of a short-time transform, in elements.
struct ShortTime {
  Dim sequence = 0, stride = 0, fourier = 0;
  bool center = true;
};

/// Maps (…, T) to (…, F, fourier/2 + 1), the transforms of windows of the signal. With `center`, the signal is mirrored
/// at its ends.
[[nodiscard]] Complex short_time_fourier(const Expression& x, const ShortTime& how, const FourierWindow& window);
/// Returns the inverse of short_time_fourier(): a signal of `length` elements, or of its natural length.
[[nodiscard]] Expression inverse_short_time_fourier(const Complex& x, const ShortTime& how, const FourierWindow& window,
                                                    std::optional<Dim> length);

}  // namespace attn::keras
