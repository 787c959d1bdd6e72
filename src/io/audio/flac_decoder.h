// Decodes FLAC files with libFLAC, and checks their checksums. Included only by attn-audio.
#pragma once

#include <FLAC/stream_decoder.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "audio/audio_sink.h"

namespace attn::io {

class FlacDecoder {
 public:
  explicit FlacDecoder(std::span<const std::uint8_t> file)
      : file_(file), decoder_(FLAC__stream_decoder_new(), FLAC__stream_decoder_delete) {
    if (decoder_ == nullptr) throw std::bad_alloc();
    FLAC__stream_decoder_set_md5_checking(decoder_.get(), 1);
  }

  /// Sends the sound. Throws FileRefused.
  void send(AudioSink& out) {
    out_ = &out;
    if (FLAC__stream_decoder_init_stream(decoder_.get(), read, nullptr, nullptr, nullptr, nullptr, write, nullptr,
                                         report, this) != FLAC__STREAM_DECODER_INIT_STATUS_OK)
      throw std::bad_alloc();
    const bool ended = FLAC__stream_decoder_process_until_end_of_stream(decoder_.get()) != 0;
    if (failure_) std::rethrow_exception(failure_);
    const auto state = FLAC__stream_decoder_get_state(decoder_.get());
    if (state == FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR) throw std::bad_alloc();
    const FLAC__uint64 announced = FLAC__stream_decoder_get_total_samples(decoder_.get());
    const bool same = FLAC__stream_decoder_finish(decoder_.get()) != 0;
    if (!ended || !same) throw FileRefused("a damaged FLAC file");
    if (announced > count_)
      throw FileRefused("a FLAC file that is cut: " + std::to_string(announced) + " samples are announced, but " +
                        std::to_string(count_) + " are there");
    if (count_ == 0) throw FileRefused("the sound has no samples");
    out.end();
  }

 private:
  static FlacDecoder& self(void* data) { return *static_cast<FlacDecoder*>(data); }

  static FLAC__StreamDecoderReadStatus read(const FLAC__StreamDecoder* /*decoder*/, FLAC__byte* to, std::size_t* count,
                                            void* data) {
    FlacDecoder& own = self(data);
    *count = std::min(*count, own.file_.size() - own.at_);
    if (*count == 0) return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
    std::memcpy(to, own.file_.data() + own.at_, *count);
    own.at_ += *count;
    return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
  }

  /// Exceptions must not pass through the library, so they are kept.
  static FLAC__StreamDecoderWriteStatus write(const FLAC__StreamDecoder* /*decoder*/, const FLAC__Frame* frame,
                                              const FLAC__int32* const buffer[], void* data) {
    FlacDecoder& own = self(data);
    try {
      own.take(frame->header, buffer);
      return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
    } catch (...) {
      own.failure_ = std::current_exception();
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
  }

  static void report(const FLAC__StreamDecoder* /*decoder*/, FLAC__StreamDecoderErrorStatus status, void* data) {
    FlacDecoder& own = self(data);
    if (own.failure_) return;
    own.failure_ = std::make_exception_ptr(
        FileRefused(std::string("a damaged FLAC file: ") + FLAC__StreamDecoderErrorStatusString[status]));
  }

  void take(const FLAC__FrameHeader& header, const FLAC__int32* const buffer[]) {
    if (failure_) std::rethrow_exception(failure_);
    if (count_ == 0) {
      out_->begin(header.sample_rate, header.channels);
      first_ = header;
    }
    if (header.sample_rate != first_.sample_rate || header.channels != first_.channels ||
        header.bits_per_sample != first_.bits_per_sample || header.bits_per_sample == 0)
      throw FileRefused("a FLAC file whose format changes");
    const auto whole = static_cast<double>(std::uint64_t{1} << (header.bits_per_sample - 1));
    frame_.resize(header.channels);
    for (std::uint32_t i = 0; i < header.blocksize; ++i, ++count_) {
      for (std::size_t c = 0; c < frame_.size(); ++c) frame_[c] = static_cast<double>(buffer[c][i]) / whole;
      out_->frame(frame_);
    }
  }

  std::span<const std::uint8_t> file_;
  std::unique_ptr<FLAC__StreamDecoder, void (*)(FLAC__StreamDecoder*)> decoder_;
  AudioSink* out_ = nullptr;
  std::exception_ptr failure_;
  FLAC__FrameHeader first_{};
  std::vector<double> frame_;
  std::uint64_t count_ = 0;
  std::size_t at_ = 0;
};

}  // namespace attn::io
