#include "audio/audio_answer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "audio/audio_records.h"
#include "companion/file_decoder.h"

namespace attn::io {

Audio read_audio_answer(Channel& channel, const std::string& place) {
  const auto next = [&] { return static_cast<AudioTag>(answer_tag(channel, place)); };
  expect_valid(next() == AudioTag::rate);
  Audio out;
  out.rate = channel.u32();
  expect_valid(out.rate >= kLeastAudioRate && out.rate <= kMostAudioRate);
  std::vector<float> samples;
  AudioTag tag = next();
  for (; tag == AudioTag::samples; tag = next()) {
    const std::uint32_t count = channel.u32();
    expect_valid(count > 0 && count <= kMostInRecord && std::ssize(samples) + count <= kMaxAudioSamples);
    samples.resize(samples.size() + count);
    channel.bytes(std::as_writable_bytes(std::span(samples).last(count)));
  }
  expect_valid(tag == AudioTag::end && !samples.empty());
  expect_valid(std::ranges::all_of(samples, [](float sample) { return std::isfinite(sample); }));
  out.samples = Tensor(DType::float32, {static_cast<Dim>(samples.size())});
  std::memcpy(out.samples.data(), samples.data(), samples.size() * sizeof(float));
  return out;
}

}  // namespace attn::io
