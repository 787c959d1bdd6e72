// Decodes JPEG files with libjpeg-turbo's defaults, as Pillow does: the accurate integer DCT and smooth upsampling of
// the colors. Included only by attn-image.
#pragma once

#include <cstddef>  // jpeglib.h lacks these two
#include <cstdio>
//
#include <jpeglib.h>
//
#include <jerror.h>  // depends on jpeglib.h

#include <array>
#include <csetjmp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/image_rows.h"

namespace attn::io {

class JpegDecoder {
 public:
  explicit JpegDecoder(std::span<const std::uint8_t> file) : file_(file) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = stop;
    errors_.base.emit_message = warn;
    guarded([this] { jpeg_create_decompress(&info_); });
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }

  /// Sends the image. Throws FileRefused.
  void send(ImageRows& out) {
    guarded([this] {
      jpeg_mem_src(&info_, file_.data(), file_.size());
      jpeg_read_header(&info_, TRUE);
    });
    const int channels = info_.num_components;
    if (channels != 1 && channels != 3 && channels != 4)
      throw FileRefused("a JPEG image of " + std::to_string(channels) + " channels; expected 1, 3 or 4");
    out.begin(info_.image_height, info_.image_width);
    info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    guarded([this] { jpeg_start_decompress(&info_); });
    const std::size_t width = info_.output_width;
    given_.resize(width * static_cast<std::size_t>(channels));
    rgb_.resize(width * 3);
    while (info_.output_scanline < info_.output_height) {
      guarded([this] {
        JSAMPROW row = given_.data();
        jpeg_read_scanlines(&info_, &row, 1);
      });
      if (channels != 3) expand(channels);
      out.row(channels == 3 ? given_ : rgb_);
    }
    guarded([this] { jpeg_finish_decompress(&info_); });
  }

 private:
  struct Errors {
    jpeg_error_mgr base{};  // must be first: the library knows its address only
    std::jmp_buf jump{};
    std::array<char, JMSG_LENGTH_MAX> text{};
  };

  /// Calls the library, which leaves `body` by a jump on an error. `body` must not own anything.
  template <typename Body>
  void guarded(const Body& body) {
    if (setjmp(errors_.jump) != 0) throw FileRefused(std::string("a damaged JPEG image: ") + errors_.text.data());
    body();
  }

  [[noreturn]] static void stop(j_common_ptr info) {
    auto* errors = reinterpret_cast<Errors*>(info->err);
    errors->base.format_message(info, errors->text.data());
    std::longjmp(errors->jump, 1);
  }

  /// Stops at warnings about pixels that are missing or wrong. Others are harmless, such as unknown bytes between
  /// segments.
  static void warn(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
      case JWRN_ARITH_BAD_CODE:
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_JPEG_EOF:
      case JWRN_MUST_RESYNC:
        stop(info);
      default:
        break;
    }
  }

  /// Converts a row of gray or CMYK. The CMYK of JPEG files is inverted; the formula is Pillow's.
  void expand(int channels) {
    const std::size_t width = rgb_.size() / 3;
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        if (channels == 1) {
          rgb_[3 * x + c] = given_[x];
        } else {
          const int black = given_[4 * x + 3], product = (255 - given_[4 * x + c]) * black + 128;
          rgb_[3 * x + c] = static_cast<std::uint8_t>(black - (((product >> 8) + product) >> 8));
        }
      }
    }
  }

  std::span<const std::uint8_t> file_;
  Errors errors_;
  jpeg_decompress_struct info_{};
  std::vector<std::uint8_t> given_, rgb_;  // one row
};

}  // namespace attn::io
