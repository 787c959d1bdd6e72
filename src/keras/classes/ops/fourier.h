// Fourier transforms expressed by existing graph operations: products with small matrices of roots of unity. Every
// backend, gradients and ONNX export support them without further code.
#pragma once

#include <optional>
#include <string_view>

#include "classes/ops/expression.h"
#include "config/json.h"

namespace attn::keras {

/// Complex numbers as in Keras: two real tensors of one shape. Real if there is no imaginary part.
struct Complex {
  Expression real;
  std::optional<Expression> imaginary{};
};

/// Σ_n x[n]·e^(−2πi·nk/N) for k < N along the last axis, whose size N must be known. The result has an imaginary part.
/// Throws Error (bad_input) for an empty axis and for one that is too long.
[[nodiscard]] Complex fourier(const Complex& x);
/// The inverse of fourier(), along the last axis: with e^(2πi·nk/N), divided by N.
[[nodiscard]] Complex inverse_fourier(const Complex& x);
/// The Fourier transform over the last two axes.
[[nodiscard]] Complex fourier_2d(const Complex& x);
/// The inverse Fourier transform over the last two axes.
[[nodiscard]] Complex inverse_fourier_2d(const Complex& x);

/// The first `length`/2 + 1 results for a real x, which is first cut or zero-padded to `length` elements.
[[nodiscard]] Complex real_fourier(const Expression& x, Dim length);
/// The inverse of real_fourier: `length` real numbers. x is first cut or zero-padded to `length`/2 + 1 elements.
[[nodiscard]] Expression inverse_real_fourier(const Complex& x, Dim length);

/// Frames of `length` elements, one every `stride`, along the last axis T: (…, T) → (…, F, length). F is unknown if T
/// is.
[[nodiscard]] Expression framed(const Expression& x, Dim length, Dim stride);
/// The inverse of framed(), which adds overlapping parts: (…, F, length) → (…, (F − 1)·stride + length).
[[nodiscard]] Expression overlapped(const Expression& frames, Dim stride);

/// The window of a short-time transform: null for none, "hann", "hamming", or a list of numbers.
class FourierWindow {
 public:
  /// Reads a window from JSON. Throws Error (bad_input) for an unknown name, or for another number of elements than
  /// `length`.
  FourierWindow(const Json& json, Dim length);
  [[nodiscard]] bool given() const { return !values_.empty(); }
  /// The window centered in `size` elements, with zeros around it.
  [[nodiscard]] std::vector<double> within(Dim size) const;

 private:
  std::vector<double> values_;
};

/// The frames of a short-time transform.
struct ShortTime {
  Dim sequence = 0, stride = 0, fourier = 0;
  bool center = true;
};

/// (…, T) → (…, F, fourier/2 + 1), from windows of the signal, which is mirrored at its ends if they are centered.
[[nodiscard]] Complex short_time_fourier(const Expression& x, const ShortTime& how, const FourierWindow& window);
/// The inverse of short_time_fourier(): a signal of `length` elements, or of its natural length.
[[nodiscard]] Expression inverse_short_time_fourier(const Complex& x, const ShortTime& how, const FourierWindow& window,
                                                    std::optional<Dim> length);

}  // namespace attn::keras
