// PNG images (ISO/IEC 15948).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ramp.h"

namespace attn::report {

struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<Color> pixels;  ///< the pixels row by row
};

/// Returns the bytes of the PNG file.
[[nodiscard]] std::string png(const Image& image);

}  // namespace attn::report
