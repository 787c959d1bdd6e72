#include "attn/io/image.h"

#include "attn/io/file.h"
#include "companion/file_decoder.h"
#include "image/image_answer.h"
#include "image/image_records.h"

namespace attn::io {
namespace {

constexpr FileDecoder kImage{{"attn-image", "ATTN_IMAGE", "image", "the image library"},
                             "an image file",
                             "libjpeg",
                             kMaxImageBytes,
                             kImageMilliseconds};

}  // namespace

std::string image_version() { return decoder_version(kImage); }

Tensor decode_image(const Bytes& file, std::string_view name, const SizeCheck& check) {
  Tensor out;
  decode_file(kImage, file, name,
              [&](Channel& channel, const std::string& place) { out = read_image_answer(channel, place, check); });
  return out;
}

Tensor read_image(const std::string& path, const SizeCheck& check) {
  return decode_image(read_file(path, kMaxImageBytes), path, check);
}

}  // namespace attn::io
