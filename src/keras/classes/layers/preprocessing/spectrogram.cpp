// Spectrograms of signals (keras/src/layers/preprocessing/stft_spectrogram.py, mel_spectrogram.py).
//
// Letters: B batch, T samples of a signal, C channels, S frames, F frequencies.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "classes/layers/layers.h"
#include "classes/layers/spatial.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/fourier.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns scipy.signal.get_window(name, size) for windows that consist of cosines or straight lines; empty for other
/// names.
std::optional<std::vector<double>> scipy_window(const std::string& name, Dim size, bool periodic) {
  std::vector<double> out(static_cast<std::size_t>(size), 1.0);
  if (size == 1 || name == "boxcar") return out;
  const auto period = static_cast<double>(periodic ? size : size - 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double at = static_cast<double>(i) / period, angle = 2.0 * std::numbers::pi * at;
    if (name == "hann") {
      out[i] = 0.5 - 0.5 * std::cos(angle);
    } else if (name == "hamming") {
      out[i] = 0.54 - 0.46 * std::cos(angle);
    } else if (name == "blackman") {
      out[i] = 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2.0 * angle);
    } else if (name == "bartlett") {
      out[i] = 1.0 - std::abs(2.0 * at - 1.0);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// The short-time Fourier transform as a convolution whose kernels are variables.
class STFTSpectrogram : public Layer {
 public:
  void fields(Fields& f) override {
    f("mode", mode);
    f("frame_length", frame_length);
    f("frame_step", frame_step);
    f("fft_length", fft_length);
    f("window", window);
    f("periodic", periodic);
    f("scaling", scaling);
    f("padding", padding);
    format.field(f);
    f("expand_dims", expand_dims);
  }
  void check(const Ref& config) override {
    if (frame_step && *frame_step > frame_length)
      config["frame_step"].fail(fmt::format("{} is more than frame_length {}", frame_step->value, frame_length.value));
    if (fft_length && *fft_length < frame_length)
      config["fft_length"].fail(fmt::format("{} is less than frame_length {}", fft_length->value, frame_length.value));
    if (frame_length > kLongest || fourier_length() > kLongest)
      config["frame_length"].fail(fmt::format("more than {} cells in a frame", kLongest));
    if (scaling && *scaling != "density" && *scaling != "spectrum")
      config["scaling"].fail("expected None, 'density' or 'spectrum'");
    if (window.json.is_array()) {
      if (static_cast<Dim>(window.json.size()) != frame_length)
        config["window"].fail(fmt::format("expected {} numbers, got {}", frame_length.value, window.json.size()));
      for (const Json& value : window.json)
        if (!value.is_number()) config["window"].fail("a window is a list of numbers");
    } else if (!window.json.is_null() && !window.json.is_string()) {
      config["window"].fail("expected the name of a window, None or a list of numbers");
    }
  }

  void build(Weights& w, Call&) override {
    const Shape shape{frame_length, 1, frequencies()};
    if (mode.value != "imag") w.add("real_kernel", shape, kernel_values(false));
    if (mode.value != "real") w.add("imag_kernel", shape, kernel_values(true));
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId given = call.tensor("inputs")->id;
    if (b.shape(given).rank() != 3) throw bad_input("expected an input of 3 axes, got {}", b.shape(given).str());
    // (B,C,T) for both formats; each channel is a separate signal.
    const ValueId signals = format.channels_first() ? given : b.transpose(given, {0, 2, 1});
    const auto part = [&](int index) { return convolved(b, signals, call.weight(index)); };
    if (mode.value == "real" || mode.value == "imag") return arranged(b, part(0));
    const Expression real = part(0), imaginary = part(1);
    if (mode.value == "angle") return arranged(b, imaginary.binary(graph::BinaryFn::atan2, real));
    if (mode.value == "stft") return arranged(b, {b, b.apply(graph::Concat{2}, {real, imaginary})});
    const Expression power = square(real) + square(imaginary);
    if (mode.value == "psd") return arranged(b, power + inner_frequencies(b, power));
    const Expression magnitude = sqrt(max(power, power.number(kEpsilon)));
    if (mode.value == "magnitude") return arranged(b, magnitude);
    return arranged(b, max(magnitude, magnitude.number(kEpsilon)).unary(graph::UnaryFn::log));
  }

 private:
  static constexpr double kEpsilon = 1e-7;          // keras.backend.epsilon()
  static constexpr Dim kLongest = Dim{1} << 24;     // maximum length of a frame
  static constexpr Dim kMostValues = Dim{1} << 22;  // maximum elements of a kernel that attn computes

  [[nodiscard]] Dim fourier_length() const {
    if (fft_length) return *fft_length;
    Dim power = 1;
    while (power < frame_length) power *= 2;
    return power;
  }
  [[nodiscard]] Dim frequencies() const { return fourier_length() / 2 + 1; }

  /// Returns the initial values of a kernel (keras.initializers.STFT). If the window is unsupported or the kernel too
  /// long, the values must come from a file.
  [[nodiscard]] graph::Initializer kernel_values(bool imaginary) const {
    graph::Initializer out;
    out.class_name = "STFT";
    std::optional<std::vector<double>> cells;
    if (window.json.is_array()) cells = window.json.get<std::vector<double>>();
    if (window.json.is_string()) cells = scipy_window(window.json.get<std::string>(), frame_length, periodic);
    const Dim count = frequencies();
    if ((!window.json.is_null() && !cells) || frame_length > kMostValues / count) return out;
    double scale = 1.0;
    if (cells && scaling) {
      double sum = 0.0;
      for (const double weight : *cells) sum += *scaling == "density" ? weight * weight : std::abs(weight);
      scale = *scaling == "density" ? std::sqrt(sum) : sum;
    }
    out.class_name = "Constant";
    out.values.reserve(static_cast<std::size_t>(frame_length * count));
    const auto period = static_cast<double>(std::max<Dim>(2 * (count - 1), 1));
    for (Dim t = 0; t < frame_length; ++t)
      for (Dim k = 0; k < count; ++k) {
        const double angle = -2.0 * std::numbers::pi * std::fmod(static_cast<double>(t * k), period) / period;
        const double weight = cells ? (*cells)[static_cast<std::size_t>(t)] / scale : 1.0;
        out.values.push_back(weight * (imaginary ? std::sin(angle) : std::cos(angle)));
      }
    return out;
  }

  /// Maps (B,C,T) to (B,C,F,S).
  [[nodiscard]] Expression convolved(Builder& b, ValueId signals, ValueId kernel) const {
    const Shape in = b.shape(signals);
    if (in[1] == kUnknown) throw bad_input("the channels of the input must be known, got {}", in.str());
    const graph::Conv conv{{frame_step ? Dim{*frame_step} : std::max<Dim>(frame_length / 2, 1)},
                           {1},
                           padding.value == "same" ? graph::Padding::same : graph::Padding::valid,
                           1,
                           false,
                           {}};
    const ValueId apart = b.apply(graph::Reshape{{times(in[0], in[1]), in[2], 1}}, {signals});
    const ValueId out = b.transpose(b.apply(conv, {apart, kernel}), {0, 2, 1});
    return {b, b.apply(graph::Reshape{{in[0], in[1], b.shape(out)[1], b.shape(out)[2]}}, {out})};
  }

  /// Returns x without the first and the last frequency, which are zero.
  static Expression inner_frequencies(Builder& b, const Expression& x) {
    const Dim inner = x.shape()[2] - 2;
    const ValueId cut = sliced(b, x, 2, {1, std::max<Dim>(inner + 1, 1), 1});
    return {b, b.apply(graph::Pad{graph::PadMode::constant, {0, 0, 1, 0}, {0, 0, 1, 0}, 0.0}, {cut})};
  }

  /// Arranges (B,C,F,S) in the order of the config.
  [[nodiscard]] Arg arranged(Builder& b, const Expression& x) const {
    if (expand_dims)
      return Call::result(b.transpose(x, format.channels_first() ? std::vector{0, 1, 3, 2} : std::vector{0, 3, 2, 1}));
    const Shape shape = x.shape();
    const ValueId rows = b.apply(graph::Reshape{{shape[0], times(shape[1], shape[2]), shape[3]}}, {x});
    return Call::result(format.channels_first() ? rows : b.transpose(rows, {0, 2, 1}));
  }

  Choice mode{"log", {"log", "magnitude", "psd", "real", "imag", "angle", "stft"}};
  Positive frame_length = 256;
  std::optional<Positive> frame_step, fft_length;
  Opaque window{Json("hann")};
  bool periodic = false;
  std::optional<std::string> scaling = "density";
  Choice padding{"valid", {"valid", "same"}};
  DataFormat format;
  bool expand_dims = false;
};

/// A spectrogram with mel-scaled frequencies: (…, T) → (…, num_mel_bins, S).
class MelSpectrogram : public Layer {
 public:
  void fields(Fields& f) override {
    f("fft_length", fft_length);
    f("sequence_stride", sequence_stride);
    f("sequence_length", sequence_length);
    f("window", window);
    f("sampling_rate", sampling_rate);
    f("num_mel_bins", num_mel_bins);
    f("min_freq", min_freq);
    f("max_freq", max_freq);
    f("power_to_db", power_to_db);
    f("top_db", top_db);
    f("mag_exp", mag_exp);
    f("min_power", min_power);
    f("ref_power", ref_power);
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const DType dtype = call.compute_dtype() == DType::float64 ? DType::float64 : DType::float32;
    const Expression x = Expression{b, call.tensor("inputs")->id}.cast(dtype);
    const int rank = x.shape().rank();
    if (rank < 1 || rank > 2) throw bad_input("expected a signal or a batch of signals, got {}", x.shape().str());
    const Dim sequence = sequence_length ? *sequence_length : fft_length;
    const Complex turned =
        short_time_fourier(x, {sequence, sequence_stride, fft_length, true}, FourierWindow(window.json, sequence));
    const Expression magnitude = sqrt(square(turned.real) + square(*turned.imaginary));
    const Expression power = mag_exp == 2.0 ? square(magnitude) : pow(magnitude, x.number(mag_exp));
    Expression out{b, b.apply(graph::Linear{1, false, {}, false}, {power, b.constant(bins(dtype))})};
    if (power_to_db) out = decibels(out);
    std::vector<int> order = rank == 1 ? std::vector{1, 0} : std::vector{0, 2, 1};
    return Call::result(b.cast(b.transpose(out, order), call.compute_dtype()));
  }

  /// Keras's compute_output_shape counts one frame too many.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("inputs");
    Shape out = in.slice(0, in.rank() - 1);
    out.push_back(num_mel_bins);
    out.push_back(in.back() == kUnknown ? kUnknown : (in.back() + sequence_stride + 1) / sequence_stride);
    return {{out}};
  }

 private:
  [[nodiscard]] Expression decibels(const Expression& power) const {
    const auto level = [](const Expression& x) { return x.unary(graph::UnaryFn::log10) * 10.0; };
    const double reference = 10.0 * std::log10(std::max(std::abs(static_cast<double>(ref_power)), min_power.value));
    const Expression out = level(max(power, power.number(min_power))) + -reference;
    std::vector<int> all;
    for (int axis = 0; axis < out.shape().rank(); ++axis) all.push_back(axis);
    return max(out, out.reduced({graph::ReduceFn::max, all, false}) + -static_cast<double>(top_db));
  }

  /// Returns triangles of height 1 on the mel scale, mel(f) = 1127·ln(1 + f/700): (F, num_mel_bins).
  [[nodiscard]] Tensor bins(DType dtype) const {
    const auto mel = [](double hertz) { return 1127.0 * std::log(1.0 + hertz / 700.0); };
    const Dim frequencies = fft_length / 2 + 1;
    const double highest = max_freq ? max_freq->value : std::floor(sampling_rate / 2.0);
    const double low = mel(min_freq), step = (mel(highest) - low) / static_cast<double>(num_mel_bins + 1);
    Tensor out(dtype, {frequencies, num_mel_bins});
    for (Dim k = 1; k < frequencies; ++k) {  // omits frequency 0, the mean of the signal
      const double at = mel(sampling_rate / 2.0 * static_cast<double>(k) / static_cast<double>(frequencies - 1));
      for (Dim bin = 0; bin < num_mel_bins; ++bin) {
        const double rise = (at - low) / step - static_cast<double>(bin);
        out.set(k * num_mel_bins + bin, std::max(0.0, std::min(rise, 2.0 - rise)));
      }
    }
    return out;
  }

  Positive fft_length = 2048, sequence_stride = 512;
  std::optional<Positive> sequence_length;
  Opaque window{Json("hann")};
  Number sampling_rate{16000};
  Positive num_mel_bins = 128;
  Number min_freq = 20.0;
  std::optional<Number> max_freq;
  bool power_to_db = true;
  Number top_db = 80.0, mag_exp = 2.0, min_power = 1e-10, ref_power = 1.0;
};

constexpr std::array kSpectrogramClasses = {
    ClassInfo{.name = "STFTSpectrogram",
              .make = make_layer<STFTSpectrogram>,
              .since = 307,
              .role = Role::kernel,
              .symbols = "real_kernel: k - f; imag_kernel: k - f"},
    ClassInfo{.name = "MelSpectrogram",
              .make = make_layer<MelSpectrogram>,
              .since = 301,
              .no_params = "its matrices follow from its config"},
};

}  // namespace

Family spectrogram_classes() { return kSpectrogramClasses; }

}  // namespace attn::keras
