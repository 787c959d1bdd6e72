// Letters: B batch, N samples, T frames, F frequencies, M mel frequencies.
#include "families/blocks/sound/audio_converters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "classes/call.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/fourier.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Slaney's mel scale: linear below 1 kHz, logarithmic above.
double hertz_of(double mel) {
  constexpr double kStep = 200.0 / 3.0, kLogHertz = 1000.0, kLogMel = kLogHertz / kStep;
  const double log_step = std::log(6.4) / 27.0;
  return mel < kLogMel ? kStep * mel : kLogHertz * std::exp(log_step * (mel - kLogMel));
}

/// (B,N) → the log-mel spectrogram (B,T,M) of the first `max_audio_length` seconds (whisper_audio_converter.py).
class WhisperAudioConverter final : public Layer {
 public:
  void fields(Fields& f) override {
    f("num_mels", num_mels);
    f("num_fft_bins", num_fft_bins);
    f("stride", stride);
    f("sampling_rate", sampling_rate);
    f("max_audio_length", max_audio_length);
  }
  void check(const Ref& config) override {
    constexpr std::int64_t kMostMels = 1 << 12, kMostBins = 1 << 16, kMostSamples = 1 << 26;
    if (num_mels > kMostMels) config["num_mels"].fail(fmt::format("more than {} are not accepted", kMostMels));
    if (num_fft_bins < 2 || num_fft_bins > kMostBins)
      config["num_fft_bins"].fail(fmt::format("expected 2 to {}", kMostBins));
    if (sampling_rate > kMostSamples / max_audio_length)
      config["max_audio_length"].fail(fmt::format("more than {} samples are not accepted", kMostSamples));
    if (samples() <= num_fft_bins / 2)
      config["max_audio_length"].fail(
          fmt::format("{} samples are too few for frames of {}", samples(), num_fft_bins.value));
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Shape in = call.shape("inputs");
    if (in.rank() != 1 && in.rank() != 2)
      throw bad_input("expected samples (length) or (batch, length), got {}", in.str());
    const Dim frames = samples() / stride;
    const DType dtype = call.compute_dtype();
    if (call.lowering().symbolic()) {
      const Shape out = in.rank() == 1 ? Shape{frames, num_mels} : Shape{in[0], frames, num_mels};
      return Call::result(b.apply(graph::Fill{out, dtype, 0.0}, {}));
    }
    if (dtype != DType::float32 && dtype != DType::float64)
      throw bad_input("a spectrogram needs float32 or float64, got {}", name_of(dtype));
    const Expression x(b, b.reshape(b.cast(call.tensor("inputs")->id, dtype), {in.rank() == 1 ? 1 : in[0], in.back()}));
    // NumPy transforms in float64. In float32, quiet frequencies beside loud ones would be wrong by 2e-5.
    const Expression out = log_mels(whole(x).cast(DType::float64), frames).cast(dtype);
    return Call::result(in.rank() == 1 ? b.reshape(out, {frames, num_mels}) : out.id);
  }

 private:
  [[nodiscard]] Dim samples() const { return sampling_rate * max_audio_length; }

  /// Returns x (B,N), cut or padded with zeros.
  [[nodiscard]] Expression whole(const Expression& x) const {
    Builder& b = *x.builder;
    const Dim given = x.shape()[1];
    if (given > samples()) return {b, b.apply(graph::Slice{{{}, {0, samples(), 1}}}, {x})};
    if (given == samples()) return x;
    return {b, b.apply(graph::Pad{graph::PadMode::constant, {0, 0}, {0, samples() - given}, 0.0}, {x})};
  }
  [[nodiscard]] Expression log_mels(const Expression& x, Dim frames) const {
    Builder& b = *x.builder;
    const ShortTime how{num_fft_bins, stride, num_fft_bins, true};
    const Complex turned = short_time_fourier(x, how, FourierWindow("hann", num_fft_bins));
    const ValueId all = square(turned.real) + square(*turned.imaginary);
    const ValueId power = b.apply(graph::Slice{{{}, {0, frames, 1}, {}}}, {all});  // without the last frame
    const Expression mels(b, b.apply(graph::Linear{1, false, {}, false}, {power, b.constant(filters(x.dtype()))}));
    constexpr double kLeast = 1e-10, kRange = 8.0, kShift = 4.0;
    const Expression logs = max(mels, mels.number(kLeast)).unary(graph::UnaryFn::log10);
    const Expression least = logs.reduced({graph::ReduceFn::max, {1, 2}, true}) + -kRange;
    return (max(logs, least) + kShift) / kShift;
  }

  /// Returns triangles on the mel scale with the same area, as KerasHub rounds them: (F,M).
  [[nodiscard]] Tensor filters(DType dtype) const {
    constexpr double kHighestMel = 45.245640471924965;
    const Dim bins = num_fft_bins / 2 + 1;
    std::vector<double> at;
    for (Dim i = 0; i < num_mels + 2; ++i)
      at.push_back(hertz_of(kHighestMel * static_cast<double>(i) / static_cast<double>(num_mels + 1)));
    Tensor out = table(dtype, {bins, num_mels}, "the mel filters");
    for (Dim k = 0; k < bins; ++k) {
      const double hertz = static_cast<double>(k * sampling_rate) / static_cast<double>(num_fft_bins);
      for (Dim m = 0; m < num_mels; ++m) {
        const double low = at[static_cast<std::size_t>(m)], middle = at[static_cast<std::size_t>(m + 1)],
                     high = at[static_cast<std::size_t>(m + 2)];
        const double slope = std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle));
        const auto height = static_cast<float>(std::max(0.0, slope));
        out.set(k * num_mels + m, static_cast<float>(height * (2.0 / (high - low))));
      }
    }
    return out;
  }

  Positive num_mels = 80, num_fft_bins = 400, stride = 160, sampling_rate = 16000, max_audio_length = 30;
};

/// (B,N) or (B,N,1) → (B,N,1), normalized if asked (moonshine_audio_converter.py).
class MoonshineAudioConverter final : public Layer {
 public:
  void fields(Fields& f) override {
    f("sampling_rate", sampling_rate);
    f("padding_value", padding_value);
    f("do_normalize", do_normalize);
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const Shape in = call.shape("inputs");
    if (in.rank() != 2 && (in.rank() != 3 || in[2] != 1))
      throw bad_input("expected samples (batch, length) or (batch, length, 1), got {}", in.str());
    const ValueId given = call.tensor("inputs")->id;
    const Expression x(b, in.rank() == 2 ? b.expand_dims(given, -1) : given);
    if (!do_normalize) return Call::result(x);
    constexpr double kLeast = 1e-7;
    const Expression centered = x - x.reduced({graph::ReduceFn::mean, {1}, true});
    const Expression variance = square(centered).reduced({graph::ReduceFn::mean, {1}, true});
    return Call::result(centered / sqrt(variance + kLeast));
  }
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return {{{call.shape("inputs")[0], kUnknown, 1}}};
  }

 private:
  Positive sampling_rate = 16000;
  Number padding_value{0.0};
  bool do_normalize = false;
};

}  // namespace

LayerPtr make_whisper_audio_converter() { return std::make_unique<WhisperAudioConverter>(); }
LayerPtr make_moonshine_audio_converter() { return std::make_unique<MoonshineAudioConverter>(); }

}  // namespace attn::keras
