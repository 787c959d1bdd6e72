// attn-image: the only program here that links the libraries for JPEG and PNG. image_records.h defines what it sends.
#include <unistd.h>

#include <array>
#include <cerrno>
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

/// Reads a range of an open file; a file that shrinks meanwhile gives fewer bytes.
std::vector<std::uint8_t> bytes_of(const ChildTask& task) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(task.size));
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(task.fd, out.data() + done, out.size() - done,
                                static_cast<off_t>(task.offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

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
