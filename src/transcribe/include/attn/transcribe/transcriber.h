// Transcribes speech by a Whisper or a Moonshine model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attn/backends/backend.h"
#include "attn/io/audio.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/tokenizers/tokenizer.h"
#include "attn/transcribe/transcript.h"

namespace attn::transcribe {

struct TranscribeOptions {
  std::optional<std::string> language;  ///< code or English name; empty: the model detects it
  bool translate = false;               ///< into English
  bool timestamps = false;
  bool words = false;  ///< with the times of words; requires timestamps
  std::int64_t num_beams = 1;
  std::optional<std::int64_t> max_new_tokens;  ///< in each window of sound
};

class Transcriber {
 public:
  virtual ~Transcriber() = default;
  /// Transcribes a sound at any rate, in windows of the model's length. `name` is for messages. Throws Error
  /// (bad_input) for a sound that is too short, and the errors of generate::generate.
  [[nodiscard]] virtual Transcript transcribe(const io::Audio& audio, std::string_view name) = 0;

  /// Opens the parts of a model: its converter of sound, its tokenizer, and its special tokens. The arguments must
  /// outlive the transcriber. Throws Error: of bad_input if the model does not transcribe or a part is missing, of
  /// usage for an option that it does not have.
  [[nodiscard]] static std::unique_ptr<Transcriber> open(
      const backends::Backend& backend, const open::LoadedModel& loaded, const tokenizers::Tokenizer& tokenizer,
      const open::Execution& execution, const TranscribeOptions& options, const open::Listener& listener);
};

}  // namespace attn::transcribe
