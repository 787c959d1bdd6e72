// The kinds of transcribers.
#pragma once

#include <memory>

#include "attn/open/audio_converter.h"
#include "attn/transcribe/transcriber.h"

namespace attn::transcribe {

/// The parts of a transcriber, by reference.
struct TranscriberParts {
  const backends::Backend& backend;
  const open::LoadedModel& loaded;
  const tokenizers::Tokenizer& tokenizer;
  const open::Execution& execution;
  const TranscribeOptions& options;
  const open::Listener& listener;
};

[[nodiscard]] std::unique_ptr<Transcriber> open_whisper(const TranscriberParts& parts, open::AudioConverter converter);
[[nodiscard]] std::unique_ptr<Transcriber> open_moonshine(const TranscriberParts& parts,
                                                          open::AudioConverter converter);

}  // namespace attn::transcribe
