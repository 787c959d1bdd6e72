// The Fourier and short-time transforms of keras.ops.math. A complex tensor is a pair of real ones.
#include "classes/ops/fourier.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

/// Throws Error (bad_input) for dtypes that TensorFlow's transforms do not support.
void expect_float(DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64)
    throw bad_input("a Fourier transform needs float32 or float64, got {}; cast its input", name_of(dtype));
}

Expression real_argument(Call& call) {
  const Operand x(call, "x");
  expect_float(x.own_dtype());
  return {call.builder(), x.value()};
}

/// Returns the argument x, a pair of tensors that must have the same shape.
Complex complex_argument(Call& call) {
  const std::vector<Operand> parts = operands(call, "x");
  if (parts.size() != 2) throw bad_input("the argument 'x' must be a pair, of real parts and imaginary parts");
  if (parts[0].shape() != parts[1].shape())
    throw bad_input("real parts {} and imaginary parts {} must have one shape", parts[0].shape().str(),
                    parts[1].shape().str());
  for (const Operand& part : parts) expect_float(part.own_dtype());
  const DType dtype = result_type({parts[0].own_dtype(), parts[1].own_dtype()});
  return {{call.builder(), parts[0].as(dtype)}, Expression{call.builder(), parts[1].as(dtype)}};
}

void expect_axes(const Expression& x, int least) {
  if (x.shape().rank() < least) throw bad_input("expected at least {} axes, got {}", least, x.shape().str());
}

Arg pair_of(const Complex& x) { return ArgList{Call::result(x.real), Call::result(*x.imaginary)}; }

using Transform = Complex (*)(const Complex&);

/// A transform over the last kAxes axes.
template <Transform kTransform, int kAxes>
class TransformOf : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    const Complex x = complex_argument(call);
    expect_axes(x.real, kAxes);
    return pair_of(kTransform(x));
  }
};

class RFFT : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("fft_length", fft_length); }
  Arg call(Call& call) override {
    const Expression x = real_argument(call);
    expect_axes(x, 1);
    return pair_of(real_fourier(x, fft_length ? Dim{*fft_length} : x.shape().back()));
  }

 private:
  std::optional<Positive> fft_length;
};

class IRFFT : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("fft_length", fft_length, 312); }
  Arg call(Call& call) override {
    const Complex x = complex_argument(call);
    expect_axes(x.real, 1);
    const Dim half = x.real.shape().back();
    const Dim whole = half == kUnknown ? kUnknown : 2 * (half - 1);
    return Call::result(inverse_real_fourier(x, fft_length ? Dim{*fft_length} : whole));
  }

 private:
  std::optional<Positive> fft_length;
};

class ExtractSequences : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("sequence_length", sequence_length);
    f.required("sequence_stride", sequence_stride);
  }
  Arg call(Call& call) override {
    const Expression x{call.builder(), Operand(call, "x").value()};
    expect_axes(x, 1);
    return Call::result(framed(x, sequence_length, sequence_stride));
  }

 private:
  Positive sequence_length, sequence_stride;
};

/// The common part of the short-time transform and its inverse.
class ShortTimeOperation : public WithArguments<kX> {
 protected:
  void cutting(Fields& f) {
    f.required("sequence_length", sequence_length);
    f.required("sequence_stride", sequence_stride);
    f.required("fft_length", fft_length);
  }
  void windowing(Fields& f) {
    f("window", window);
    f("center", center);
  }
  [[nodiscard]] ShortTime how() const { return {sequence_length, sequence_stride, fft_length, center}; }
  [[nodiscard]] FourierWindow made_window() const { return {window.json, sequence_length}; }

 private:
  Positive sequence_length, sequence_stride, fft_length;
  Opaque window{Json("hann")};
  bool center = true;
};

class STFT : public ShortTimeOperation {
 public:
  void fields(Fields& f) override {
    cutting(f);
    windowing(f);
  }
  Arg call(Call& call) override {
    const Expression x = real_argument(call);
    expect_axes(x, 1);
    return pair_of(short_time_fourier(x, how(), made_window()));
  }
};

class ISTFT : public ShortTimeOperation {
 public:
  void fields(Fields& f) override {
    cutting(f);
    f("length", length, 312);
    windowing(f);
  }
  Arg call(Call& call) override {
    const Complex x = complex_argument(call);
    expect_axes(x.real, 2);
    return Call::result(
        inverse_short_time_fourier(x, how(), made_window(), length ? std::optional<Dim>(*length) : std::nullopt));
  }

 private:
  std::optional<Positive> length;
};

constexpr std::array kSignalOperations = {
    unnamed_before_311("FFT", make_layer<TransformOf<fourier, 1>>, 300, kMathOps),
    unnamed_before_311("FFT2", make_layer<TransformOf<fourier_2d, 2>>, 300, kMathOps),
    unnamed_before_311("IFFT2", make_layer<TransformOf<inverse_fourier_2d, 2>>, 307, kMathOps),
    ClassInfo{"RFFT", make_layer<RFFT>, 300, kMathOps},
    unnamed_before_311("IRFFT", make_layer<IRFFT>, 300, kMathOps),
    ClassInfo{"ExtractSequences", make_layer<ExtractSequences>, 300, kMathOps},
    ClassInfo{"STFT", make_layer<STFT>, 300, kMathOps},
    ClassInfo{"ISTFT", make_layer<ISTFT>, 300, kMathOps},
};

}  // namespace

Family signal_operations() { return kSignalOperations; }

}  // namespace attn::keras
