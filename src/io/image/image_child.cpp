// attn-image: the only program here that links the libraries for JPEG and PNG. image_records.h defines what it sends.
#include <array>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "companion/child.h"
#include "image/image_decoder.h"

#define ATTN_TEXT_OF_NUMBER(number) #number
#define ATTN_TEXT_OF(macro) ATTN_TEXT_OF_NUMBER(macro)

namespace attn::io {
namespace {

constexpr std::array<std::string_view, 1> kModes = {"read"};

std::string work(const ChildTask& task, Channel& channel) {
  // Memory for the program and the libraries; for each pixel, the coefficients of a progressive JPEG or the samples of
  // an interlaced PNG.
  constexpr std::int64_t kProgram = std::int64_t{256} << 20, kBytesPerPixel = 12;
  try {
    if (task.size > kMaxImageBytes) return "the file is too large";
    confine({kImageMilliseconds, kProgram + task.size + kBytesPerPixel * kMaxImagePixels, false});
    const std::vector<std::uint8_t> file = bytes_of(task);
    send_image(file, channel);
    return {};
  } catch (const ImageRefused& refused) {
    return refused.what();
  } catch (const std::bad_alloc&) {
    return "needs more memory than an image should";
  }
}

std::string version() {
  return std::string("libjpeg-turbo " ATTN_TEXT_OF(LIBJPEG_TURBO_VERSION) ", libspng ") + spng_version_string();
}

}  // namespace
}  // namespace attn::io

int main(int count, char** words) {
  using namespace attn::io;
  run_child({"attn-image reads JPEG and PNG files for attn, which starts it.", kModes, version, work}, count, words);
}
