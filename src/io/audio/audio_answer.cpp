#include "audio/audio_answer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "audio/audio_records.h"

namespace attn::io {

Audio read_audio_answer(Channel& channel, const std::string& place) {
  const auto next = [&] {
    const auto tag = static_cast<AudioTag>(channel.u8());
    if (tag == AudioTag::error) throw bad_input("{}: {}", place, printable(channel.text()));
    return tag;
  };
  const auto expect = [](bool valid) {
    if (!valid) throw ChannelBroken{ChannelBroken::Reason::invalid_data};
  };
  expect(next() == AudioTag::rate);
  Audio out;
  out.rate = channel.u32();
  expect(out.rate >= kLeastAudioRate && out.rate <= kMostAudioRate);
  std::vector<float> samples;
  AudioTag tag = next();
  for (; tag == AudioTag::samples; tag = next()) {
    const std::uint32_t count = channel.u32();
    expect(count > 0 && count <= kMostInRecord && std::ssize(samples) + count <= kMaxAudioSamples);
    samples.resize(samples.size() + count);
    channel.bytes(std::as_writable_bytes(std::span(samples).last(count)));
  }
  expect(tag == AudioTag::end && !samples.empty());
  expect(std::ranges::all_of(samples, [](float sample) { return std::isfinite(sample); }));
  out.samples = Tensor(DType::float32, {static_cast<Dim>(samples.size())});
  std::memcpy(out.samples.data(), samples.data(), samples.size() * sizeof(float));
  return out;
}

}  // namespace attn::io
