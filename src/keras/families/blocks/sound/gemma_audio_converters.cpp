// Letters: B batch, N samples, T frames of L samples, F frequencies, M mel frequencies.
#include "families/blocks/sound/gemma_audio_converters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "classes/call.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/fourier.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::int64_t kMostMels = 1 << 12, kMostBins = 1 << 16, kMostSamples = 1 << 26, kMostRate = 1 << 20;

/// The mel filters of HTK: triangles with a height of 1.
struct MelScale {
  Dim bins = 0, mels = 0;          ///< F and M
  double hertz = 0.0;              ///< from one frequency to the next
  double least = 0.0, most = 0.0;  ///< frequencies of the first and the last triangle

  /// Returns the filters (F,M). KerasHub computes them in `Real`.
  template <typename Real>
  [[nodiscard]] Tensor filters(DType dtype) const {
    const auto mel_of = [](double frequency) { return 2595.0 * std::log10(1.0 + frequency / 700.0); };
    const double low = mel_of(least), step = (mel_of(most) - low) / static_cast<double>(mels + 1);
    std::vector<Real> at;
    for (Dim i = 0; i < mels + 2; ++i) {
      const auto mel = static_cast<Real>(low + step * static_cast<double>(i));
      at.push_back(Real(700) * (std::pow(Real(10), mel / Real(2595)) - Real(1)));
    }
    Tensor out = table(dtype, {bins, mels}, "the mel filters");
    for (Dim k = 0; k < bins; ++k) {
      const Real own = static_cast<Real>(k) * static_cast<Real>(hertz);
      for (Dim m = 0; m < mels; ++m) {
        const auto i = static_cast<std::size_t>(m);
        const Real rise = (own - at[i]) / (at[i + 1] - at[i]), fall = (at[i + 2] - own) / (at[i + 2] - at[i + 1]);
        out.set(k * mels + m, static_cast<float>(std::max(Real(0), std::min(rise, fall))));
      }
    }
    return out;
  }
};

/// The part that both converters share: from frames to normalized logarithms of mel frequencies.
class GemmaAudioConverter : public Layer {
 protected:
  void mean_fields(Fields& f) {
    f("per_bin_mean", per_bin_mean);
    f("per_bin_stddev", per_bin_stddev);
  }
  void check_scale(const Ref& config, const char* mels_key, Dim mels) const {
    if (mels > kMostMels) config[mels_key].fail(fmt::format("more than {} are not accepted", kMostMels));
    if (sampling_rate > kMostRate)
      config["sampling_rate"].fail(fmt::format("more than {} are not accepted", kMostRate));
    if (min_frequency < 0.0) config["min_frequency"].fail("expected a number from 0");
    if (max_frequency <= min_frequency) config["max_frequency"].fail("expected more than min_frequency");
    if (mel_floor <= 0.0) config["mel_floor"].fail("expected a number above 0");
    for (const auto& [key, list] : {std::pair("per_bin_mean", &per_bin_mean), {"per_bin_stddev", &per_bin_stddev}})
      if (*list && std::ssize(**list) != mels)
        config[key].fail(fmt::format("expected {} numbers, one for each mel frequency", mels));
    if (per_bin_stddev && std::ranges::count(*per_bin_stddev, 0.0, &Number::value) > 0)
      config["per_bin_stddev"].fail("expected other numbers than 0");
  }

  /// Returns samples (B,N) of an input (N) or (B,N). NumPy's precision, as in Whisper's converter: in float32, quiet
  /// frequencies beside loud ones would be wrong.
  static Expression samples(Call& call) {
    const Shape in = call.shape("inputs");
    if (in.rank() != 1 && in.rank() != 2)
      throw bad_input("expected samples (length) or (batch, length), got {}", in.str());
    const DType dtype = call.compute_dtype();
    if (dtype != DType::float32 && dtype != DType::float64)
      throw bad_input("a spectrogram needs float32 or float64, got {}", name_of(dtype));
    Builder& b = call.builder();
    const ValueId x = b.cast(b.cast(call.tensor("inputs")->id, dtype), DType::float64);
    return {b, b.reshape(x, {in.rank() == 1 ? 1 : in[0], in.back()})};
  }

  /// Returns the magnitudes of frames (B,T,L) on the mel scale: (B,T,M). Their transforms have `bins` samples, to which
  /// frames are cut or padded.
  template <typename Real>
  [[nodiscard]] Expression mel_magnitudes(const Expression& frames, Dim bins, Dim mels) const {
    Builder& b = *frames.builder;
    const Dim length = frames.shape().back();
    Tensor window(frames.dtype(), {length});
    for (Dim i = 0; i < length; ++i)
      window.set(i, static_cast<float>(0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * static_cast<double>(i) /
                                                            static_cast<double>(length))));
    const Complex turned = real_fourier(frames * Expression(b, b.constant(std::move(window))), bins);
    const Expression magnitudes = sqrt(square(turned.real) + square(*turned.imaginary));
    const MelScale scale{bins / 2 + 1, mels, static_cast<double>(sampling_rate.value) / static_cast<double>(bins),
                         min_frequency, max_frequency};
    return {b,
            b.apply(graph::Linear{1, false, {}, false}, {magnitudes, b.constant(scale.filters<Real>(frames.dtype()))})};
  }

  /// Returns x without the means, in the compute dtype.
  [[nodiscard]] Expression normalized(Call& call, Expression x) const {
    Builder& b = call.builder();
    const auto row = [&](const std::vector<Number>& numbers) {
      Tensor out(x.dtype(), {std::ssize(numbers)});
      for (std::size_t i = 0; i < numbers.size(); ++i)
        out.set(static_cast<std::int64_t>(i), static_cast<float>(numbers[i].value));
      return Expression(b, b.constant(std::move(out)));
    };
    if (per_bin_mean) x = x - row(*per_bin_mean);
    if (per_bin_stddev) x = x / row(*per_bin_stddev);
    return x.cast(call.compute_dtype());
  }

  Positive sampling_rate = 16000;
  Number min_frequency{0.0}, max_frequency{8000.0}, mel_floor{1e-5};
  std::optional<std::vector<Number>> per_bin_mean, per_bin_stddev;
};

/// Returns x (B,N) with numbers before and after it.
Expression padded_samples(const Expression& x, Dim before, Dim after, double value = 0.0) {
  if (before + after == 0) return x;
  return {*x.builder, x.builder->apply(graph::Pad{graph::PadMode::constant, {0, before}, {0, after}, value}, {x})};
}

Expression first_samples(const Expression& x, Dim count) {
  if (x.shape()[1] <= count) return x;
  return {*x.builder, x.builder->apply(graph::Slice{{{}, {0, count, 1}}}, {x})};
}

/// (B,N) → (B,T,M) of the first `max_audio_length` seconds.
class Gemma4AudioConverter final : public GemmaAudioConverter {
 public:
  void fields(Fields& f) override {
    f("num_mels", num_mels);
    f("num_fft_bins", num_fft_bins);
    f("stride", stride);
    f("sampling_rate", sampling_rate);
    f("max_audio_length", max_audio_length);
    f("min_frequency", min_frequency);
    f("max_frequency", max_frequency);
    f("mel_floor", mel_floor);
    mean_fields(f);
    f("frame_length", frame_length);
    if (!frame_length) frame_length = num_fft_bins;
  }
  void check(const Ref& config) override {
    check_scale(config, "num_mels", num_mels);
    if (num_fft_bins < 2 || num_fft_bins > kMostBins)
      config["num_fft_bins"].fail(fmt::format("expected 2 to {}", kMostBins));
    if (*frame_length > kMostBins) config["frame_length"].fail(fmt::format("expected at most {}", kMostBins));
    if (sampling_rate > kMostSamples / max_audio_length)
      config["max_audio_length"].fail(fmt::format("more than {} samples are not accepted", kMostSamples));
    if (stride > sampling_rate * max_audio_length)
      config["stride"].fail(fmt::format("expected at most {} samples", sampling_rate * max_audio_length));
  }

  Arg call(Call& call) override {
    const Shape in = call.shape("inputs");
    const Dim count = sampling_rate * max_audio_length, frames = count / stride, length = *frame_length;
    if (call.lowering().symbolic()) {
      const Shape out = in.rank() == 1 ? Shape{frames, num_mels} : Shape{in[0], frames, num_mels};
      return Call::result(call.builder().apply(graph::Fill{out, call.compute_dtype(), 0.0}, {}));
    }
    const Expression sound = padded_samples(first_samples(samples(call), count), length / 2, 0);
    const Dim needed = (frames - 1) * stride + length;
    const Expression whole =
        first_samples(padded_samples(sound, 0, std::max<Dim>(0, needed - sound.shape()[1])), needed);
    const Expression mels = mel_magnitudes<double>(framed(whole, length, stride), num_fft_bins, num_mels);
    const Expression out = normalized(call, (mels + mel_floor.value).unary(graph::UnaryFn::log));
    return Call::result(in.rank() == 1 ? call.builder().reshape(out, {frames, num_mels}) : out.id);
  }

 private:
  Positive num_mels = 128, num_fft_bins = 512, stride = 160, max_audio_length = 30;
  std::optional<Positive> frame_length = Positive(320);
};

/// (B,N) → (B,T,M) with a mask (B,T), 1 for frames that begin in the sound. The sound is padded to a multiple of 128
/// samples.
class Gemma3nAudioConverter final : public GemmaAudioConverter {
 public:
  void fields(Fields& f) override {
    f.required("feature_size", feature_size);
    f.required("sampling_rate", sampling_rate);
    f.required("padding_value", padding_value);
    f.required("return_attention_mask", return_attention_mask);
    f.required("frame_length_ms", frame_length_ms);
    f.required("hop_length_ms", hop_length_ms);
    f.required("min_frequency", min_frequency);
    f.required("max_frequency", max_frequency);
    f.required("preemphasis", preemphasis);
    f.required("preemphasis_htk_flavor", preemphasis_htk_flavor);
    f.required("fft_overdrive", fft_overdrive);
    f.required("dither", dither);
    f.required("input_scale_factor", input_scale_factor);
    f.required("mel_floor", mel_floor);
    mean_fields(f);
    f.required("padding_side", padding_side);
    if (f.reading() || !seed.json.is_null()) f("seed", seed);  // KerasHub has it since 0.32
  }
  void check(const Ref& config) override {
    check_scale(config, "feature_size", feature_size);
    for (const auto& [key, value] : {std::pair("frame_length_ms", frame_length()), {"hop_length_ms", hop_length()}})
      if (value < 1 || value > kMostBins / 4)
        config[key].fail(fmt::format("expected a duration of 1 to {} samples", kMostBins / 4));
    if (dither != 0.0) config["dither"].fail("expected 0: attn adds no noise to sounds");
    if (padding_side != "right") config["padding_side"].fail("expected 'right'");
  }

  Arg call(Call& call) override {
    const Shape in = call.shape("inputs");
    Builder& b = call.builder();
    const auto result = [&](ValueId features, ValueId mask) {
      if (in.rank() == 2) return ArgList{Call::result(features), Call::result(mask)};
      const Shape shape = b.shape(features);
      return ArgList{Call::result(b.reshape(features, shape.slice(1, 3))),
                     Call::result(b.reshape(mask, shape.slice(1, 2)))};
    };
    if (call.lowering().symbolic())
      return result(b.apply(graph::Fill{{in[0], kUnknown, feature_size}, call.compute_dtype(), 0.0}, {}),
                    b.apply(graph::Fill{{in[0], kUnknown}, DType::int32, 0.0}, {}));
    const Expression sound = first_samples(samples(call), kMostOfSound);
    const Dim given = sound.shape()[1], whole = (given + kMultiple - 1) / kMultiple * kMultiple;
    if (whole < frame_length()) throw bad_input("{} samples are too few for a frame of {}", given, frame_length());
    const Expression signal =
        emphasized(padded_samples(sound, 0, whole - given, padding_value) * input_scale_factor.value);
    const Dim bins = std::bit_ceil(static_cast<std::uint64_t>(frame_length())) * (fft_overdrive ? 2U : 1U);
    const Expression mels = mel_magnitudes<float>(framed(signal, frame_length(), hop_length()), bins, feature_size);
    const Expression logs = max(mels, mels.number(mel_floor)).unary(graph::UnaryFn::log);
    const Expression features = normalized(call, logs);
    const Shape shape = features.shape();
    const Expression number(b, b.apply(graph::Iota{{shape[0], shape[1]}, DType::int32, 1}, {}));
    const Dim valid = (given + hop_length() - 1) / hop_length();
    return result(features, (number < static_cast<double>(valid)).cast(DType::int32));
  }

 private:
  static constexpr Dim kMostOfSound = 480'000, kMultiple = 128;  // samples; defaults that KerasHub's preprocessor keeps

  [[nodiscard]] Dim rounded(double milliseconds) const {
    const double count = std::nearbyint(static_cast<double>(sampling_rate.value) * milliseconds / 1000.0);
    return count >= 0.0 && count <= static_cast<double>(kMostSamples) ? static_cast<Dim>(count) : 0;
  }
  [[nodiscard]] Dim frame_length() const { return rounded(frame_length_ms); }
  [[nodiscard]] Dim hop_length() const { return rounded(hop_length_ms); }

  /// Returns x minus a part of the sample before each one; before the first one it is the first one itself, or 0.
  [[nodiscard]] Expression emphasized(const Expression& x) const {
    if (preemphasis <= 0.0) return x;
    Builder& b = *x.builder;
    const Expression earlier = first_samples(x, x.shape()[1] - 1);
    const Expression before = preemphasis_htk_flavor
                                  ? Expression(b, b.apply(graph::Concat{1}, {first_samples(x, 1), earlier}))
                                  : padded_samples(earlier, 1, 0);
    return x - before * preemphasis.value;
  }

  Positive feature_size;
  Number padding_value, frame_length_ms, hop_length_ms, preemphasis, dither, input_scale_factor;
  bool preemphasis_htk_flavor = true, fft_overdrive = true;
  Opaque return_attention_mask, seed;
  std::string padding_side;
};

}  // namespace

LayerPtr make_gemma3n_audio_converter() { return std::make_unique<Gemma3nAudioConverter>(); }
LayerPtr make_gemma4_audio_converter() { return std::make_unique<Gemma4AudioConverter>(); }

}  // namespace attn::keras
