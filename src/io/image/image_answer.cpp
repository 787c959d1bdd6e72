#include "image/image_answer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "image/image_records.h"

namespace attn::io {
namespace {

/// Returns the tag of the next record. Throws the reason why attn-image rejected the file.
ImageTag next_tag(Channel& channel, const std::string& place) {
  const auto tag = static_cast<ImageTag>(channel.u8());
  if (tag == ImageTag::error) throw bad_input("{}: {}", place, printable(channel.text()));
  return tag;
}

}  // namespace

Tensor read_image_answer(Channel& channel, const std::string& place) {
  const auto expect = [&](ImageTag tag) {
    if (next_tag(channel, place) != tag) throw ChannelBroken{ChannelBroken::Reason::invalid_data};
  };
  expect(ImageTag::size);
  const std::int64_t height = channel.u32(), width = channel.u32();
  if (height < 1 || width < 1 || height > kMaxImagePixels / width)
    throw ChannelBroken{ChannelBroken::Reason::invalid_data};
  std::vector<std::byte> pixels;
  const auto row = static_cast<std::size_t>(width) * 3;
  for (std::int64_t y = 0; y < height; ++y) {
    expect(ImageTag::row);
    pixels.resize(pixels.size() + row);
    channel.bytes(std::span(pixels).last(row));
  }
  expect(ImageTag::end);
  Tensor out(DType::uint8, {height, width, 3});
  std::memcpy(out.data(), pixels.data(), pixels.size());
  return out;
}

}  // namespace attn::io
