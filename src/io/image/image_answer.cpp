#include "image/image_answer.h"

#include "companion/file_decoder.h"
#include "image/image_records.h"

namespace attn::io {

Tensor read_image_answer(Channel& channel, const std::string& place, const SizeCheck& check) {
  const auto expect = [&](ImageTag tag) { expect_valid(answer_tag(channel, place) == static_cast<std::uint8_t>(tag)); };
  expect(ImageTag::size);
  const std::int64_t height = channel.u32(), width = channel.u32();
  expect_valid(height >= 1 && width >= 1 && height <= kMaxImagePixels / width);
  if (check) check(height, width);
  Tensor out(DType::uint8, {height, width, 3});
  const std::int64_t row = width * 3;
  for (std::int64_t y = 0; y < height; ++y) {
    expect(ImageTag::row);
    channel.bytes({out.data() + y * row, static_cast<std::size_t>(row)});
  }
  expect(ImageTag::end);
  return out;
}

}  // namespace attn::io
