#include "attn/io/image.h"

#include <chrono>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "companion/companion_process.h"
#include "image/image_answer.h"
#include "image/image_records.h"

namespace attn::io {
namespace {

constexpr Companion kImage{"attn-image", "ATTN_IMAGE", "image", "the image library"};

}  // namespace

std::string image_version() {
  const std::string line = version_line(kImage);
  if (!line.starts_with("libjpeg") || !line.ends_with('\n'))
    throw bad_input("attn-image answers '{}' where its version is expected", printable(line));
  return printable(line.substr(0, line.size() - 1));
}

Tensor decode_image(const Bytes& file, std::string_view name) {
  const std::string place = printable(name);
  if (file.size() == 0) throw bad_input("{}: the file is empty", place);
  if (file.size() > kMaxImageBytes)
    throw bad_input("{}: an image file may have at most {} MiB", place, kMaxImageBytes >> 20);
  const OpenBytes open(kImage, file);
  // Processor time advances more slowly under load.
  constexpr std::chrono::seconds kLimit(5 * kImageMilliseconds / 1000);
  CompanionProcess process(kImage, "read", open.backing(), file.size(), kLimit, place);
  try {
    return read_image_answer(process.channel(), place);
  } catch (const ChannelBroken& broken) {
    process.fail(broken);
  }
}

Tensor read_image(const std::string& path) { return decode_image(read_file(path, kMaxImageBytes), path); }

}  // namespace attn::io
