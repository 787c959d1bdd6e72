// Decodes WAV files: RIFF with PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64 bits. Included only by attn-audio.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audio/audio_sink.h"

namespace attn::io {

class WavDecoder {
 public:
  explicit WavDecoder(std::span<const std::uint8_t> file) : file_(file) {}

  /// Sends the sound. Throws FileRefused.
  void send(AudioSink& out) {
    constexpr std::size_t kRiffHeader = 12;
    std::size_t at = kRiffHeader;
    while (at + kChunkHeader <= file_.size()) {
      const std::string_view id = text(at, 4);
      const std::uint64_t size = number(at + 4, 4);
      at += kChunkHeader;
      if (id == "data") return send_samples(out, at, size);
      if (size > file_.size() - at)
        throw FileRefused("a damaged WAV file: a part of " + std::to_string(size) + " bytes, of which " +
                          std::to_string(file_.size() - at) + " are there");
      if (id == "fmt ") read_format(at, size);
      at += size + size % 2;
    }
    throw FileRefused("a damaged WAV file: it has no part with samples");
  }

 private:
  static constexpr std::size_t kChunkHeader = 8;
  static constexpr std::uint64_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
  /// Sizes that programs write before they know how many samples there will be.
  static constexpr std::uint64_t kOpenSize = 0xFFFFFFFF, kOtherOpenSize = 0x7FFFFFFF;

  struct Format {
    std::uint64_t tag = 0, bits = 0;
    std::uint32_t channels = 0, rate = 0;
  };

  [[nodiscard]] std::string_view text(std::size_t at, std::size_t count) const {
    return {reinterpret_cast<const char*>(file_.data()) + at, count};
  }
  [[nodiscard]] std::uint64_t number(std::size_t at, std::size_t bytes) const {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < bytes; ++i) out |= std::uint64_t{file_[at + i]} << (8 * i);
    return out;
  }

  void read_format(std::size_t at, std::uint64_t size) {
    constexpr std::uint64_t kPlain = 16, kWithSubformat = 40;
    if (size < kPlain) throw FileRefused("a damaged WAV file: its format has " + std::to_string(size) + " bytes");
    Format found;
    found.tag = number(at, 2);
    found.channels = static_cast<std::uint32_t>(number(at + 2, 2));
    found.rate = static_cast<std::uint32_t>(number(at + 4, 4));
    const std::uint64_t frame = number(at + 12, 2);
    found.bits = number(at + 14, 2);
    if (found.tag == kExtensible) {
      if (size < kWithSubformat) throw FileRefused("a damaged WAV file: its extensible format is cut");
      constexpr std::string_view kRest("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 14);
      found.tag = text(at + 26, kRest.size()) == kRest ? number(at + 24, 2) : 0;
    }
    check(found, frame);
    format_ = found;
  }

  static void check(const Format& found, std::uint64_t frame) {
    const std::uint64_t bits = found.bits;
    const bool integers = found.tag == kPcm && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
    const bool floats = found.tag == kFloat && (bits == 32 || bits == 64);
    if (!integers && !floats)
      throw FileRefused("a WAV file of format " + std::to_string(found.tag) + " with " + std::to_string(bits) +
                        " bits; expected PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64");
    if (frame != found.channels * bits / 8)
      throw FileRefused("a damaged WAV file: " + std::to_string(found.channels) + " channels of " +
                        std::to_string(bits) + " bits cannot take " + std::to_string(frame) + " bytes");
  }

  void send_samples(AudioSink& out, std::size_t at, std::uint64_t size) {
    if (!format_) throw FileRefused("a damaged WAV file: its samples have no format");
    const std::size_t rest = file_.size() - at;
    const bool open = size == kOpenSize || size == kOtherOpenSize;
    if (size > rest && !open)
      throw FileRefused("a WAV file that is cut: " + std::to_string(size) + " bytes of samples are announced, but " +
                        std::to_string(rest) + " are there");
    out.begin(format_->rate, format_->channels);
    const std::size_t bytes = format_->bits / 8, frame = bytes * format_->channels;
    const std::size_t count = (open ? rest : static_cast<std::size_t>(size)) / frame;
    std::vector<double> samples(format_->channels);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < samples.size(); ++c) samples[c] = sample(at + i * frame + c * bytes, bytes);
      out.frame(samples);
    }
    out.end();
  }

  /// Returns a sample as a number from -1 to 1; 8 bits are unsigned.
  [[nodiscard]] double sample(std::size_t at, std::size_t bytes) const {
    const std::uint64_t bits = number(at, bytes);
    if (format_->tag == kFloat && bytes == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (format_->tag == kFloat) return std::bit_cast<double>(bits);
    constexpr double kByteHalf = 128.0;
    if (bytes == 1) return (static_cast<double>(bits) - kByteHalf) / kByteHalf;
    const auto unused = static_cast<int>(64 - 8 * bytes);
    const auto value = static_cast<std::int64_t>(bits << unused) >> unused;
    return static_cast<double>(value) / static_cast<double>(std::uint64_t{1} << (8 * bytes - 1));
  }

  std::span<const std::uint8_t> file_;
  std::optional<Format> format_;
};

}  // namespace attn::io
