// attn-image: the only program here that links the libraries for JPEG and PNG. image_records.h defines what it sends.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "companion/child.h"
#include "image/image_decoder.h"

#define ATTN_TEXT_OF_NUMBER(number) #number
#define ATTN_TEXT_OF(macro) ATTN_TEXT_OF_NUMBER(macro)

namespace attn::io {
namespace {

constexpr std::array<std::string_view, 1> kModes = {"read"};

// Memory for the program and the libraries; for each pixel, the coefficients of a progressive JPEG or the samples of an
// interlaced PNG.
constexpr std::int64_t kProgram = std::int64_t{256} << 20, kBytesPerPixel = 12;
constexpr Decoding kDecoding{
    "an image", kMaxImageBytes, {kImageMilliseconds, kProgram + kBytesPerPixel* kMaxImagePixels, false}, send_image};

std::string work(const ChildTask& task, Channel& channel) { return decode_confined(kDecoding, task, channel); }

std::string version() {
  return std::string("libjpeg-turbo " ATTN_TEXT_OF(LIBJPEG_TURBO_VERSION) ", libspng ") + spng_version_string();
}

}  // namespace
}  // namespace attn::io

int main(int count, char** words) {
  using namespace attn::io;
  run_child({"attn-image reads JPEG and PNG files for attn, which starts it.", kModes, version, work}, count, words);
}
