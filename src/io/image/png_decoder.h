// Decodes PNG files with libspng, and converts samples to RGB as Pillow's convert("RGB") does. Included only by
// attn-image.
#pragma once

#include <spng.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "image/image_rows.h"

namespace attn::io {

class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::uint8_t> file) : context_(spng_ctx_new(0), spng_ctx_free) {
    constexpr std::size_t kMaxChunk = std::size_t{64} << 20;
    if (context_ == nullptr) throw std::bad_alloc();
    check(spng_set_chunk_limits(context_.get(), kMaxChunk, kMaxChunk));
    check(spng_set_png_buffer(context_.get(), file.data(), file.size()));
  }

  /// Sends the image. Throws FileRefused.
  void send(ImageRows& out) {
    check(spng_get_ihdr(context_.get(), &header_));
    out.begin(header_.height, header_.width);
    if (header_.color_type == SPNG_COLOR_TYPE_INDEXED) read_palette();
    check(spng_decode_image(context_.get(), nullptr, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE));
    std::size_t size = 0;
    check(spng_decoded_image_size(context_.get(), SPNG_FMT_RAW, &size));
    const std::size_t row = size / header_.height;
    rgb_.resize(std::size_t{header_.width} * 3);
    // The passes of an interlaced image return to earlier rows.
    const bool whole = header_.interlace_method != SPNG_INTERLACE_NONE;
    std::vector<std::uint8_t> raw(whole ? size : row);
    for (bool ended = false; !ended;) {
      spng_row_info at{};
      check(spng_get_row_info(context_.get(), &at));
      const std::span<std::uint8_t> to = whole ? std::span(raw).subspan(at.row_num * row, row) : std::span(raw);
      const int status = spng_decode_row(context_.get(), to.data(), row);
      ended = status == SPNG_EOI;
      if (!ended) check(status);
      if (!whole) send_row(out, to);
    }
    for (std::size_t y = 0; whole && y < header_.height; ++y) send_row(out, std::span(raw).subspan(y * row, row));
  }

 private:
  static void check(int status) {
    if (status != SPNG_OK) throw FileRefused(std::string("a damaged PNG image: ") + spng_strerror(status));
  }

  /// Colors beyond the palette are black, as in Pillow.
  void read_palette() {
    spng_plte palette{};
    check(spng_get_plte(context_.get(), &palette));
    for (std::size_t i = 0; i < std::min<std::size_t>(palette.n_entries, palette_.size()); ++i)
      palette_[i] = {palette.entries[i].red, palette.entries[i].green, palette.entries[i].blue};
  }

  [[nodiscard]] std::size_t channels() const {
    switch (header_.color_type) {
      case SPNG_COLOR_TYPE_TRUECOLOR:
        return 3;
      case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
        return 4;
      case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
        return 2;
      default:
        return 1;
    }
  }

  /// Returns sample i of a row as 8 bits. Pillow clips 16 bits of gray, and takes the high byte of other ones.
  [[nodiscard]] std::uint8_t sample(std::span<const std::uint8_t> row, std::size_t i) const {
    constexpr std::uint8_t kWhite = 255;
    const std::size_t depth = header_.bit_depth;
    if (depth == 16) {
      const std::uint8_t high = row[2 * i], low = row[2 * i + 1];
      if (header_.color_type != SPNG_COLOR_TYPE_GRAYSCALE) return high;
      return high != 0 ? kWhite : low;
    }
    if (depth == 8) return row[i];
    const std::size_t bit = i * depth, most = (std::size_t{1} << depth) - 1;
    const std::size_t value = (std::size_t{row[bit / 8]} >> (8 - depth - bit % 8)) & most;
    if (header_.color_type == SPNG_COLOR_TYPE_INDEXED) return static_cast<std::uint8_t>(value);
    return static_cast<std::uint8_t>(value * kWhite / most);
  }

  void send_row(ImageRows& out, std::span<const std::uint8_t> row) {
    const std::size_t count = channels();
    const bool is_gray = count < 3;
    for (std::size_t x = 0; x < header_.width; ++x) {
      std::array<std::uint8_t, 3> color{};
      if (header_.color_type == SPNG_COLOR_TYPE_INDEXED) {
        color = palette_[sample(row, x)];
      } else {
        for (std::size_t c = 0; c < 3; ++c) color[c] = sample(row, x * count + (is_gray ? 0 : c));
      }
      std::copy(color.begin(), color.end(), rgb_.begin() + static_cast<std::ptrdiff_t>(3 * x));
    }
    out.row(rgb_);
  }

  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  spng_ihdr header_{};
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
  std::vector<std::uint8_t> rgb_;  // one row
};

}  // namespace attn::io
