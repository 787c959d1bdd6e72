#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/audio_converter.h"
#include "attn/transcribe/transcriber.h"
#include "kinds.h"

namespace attn::transcribe {

std::unique_ptr<Transcriber> Transcriber::open(const backends::Backend& backend, const open::LoadedModel& loaded,
                                               const tokenizers::Tokenizer& tokenizer, const open::Execution& execution,
                                               const TranscribeOptions& options, const open::Listener& listener) {
  const std::string& name = loaded.model.class_name();
  const bool whisper = name == "WhisperBackbone";
  if (!whisper && name != "MoonshineAudioToText")
    throw bad_input("{}: a {} does not transcribe; expected a WhisperBackbone or a MoonshineAudioToText", loaded.file,
                    name);
  auto converter = open::audio_converter_of(loaded);
  if (!converter)
    throw bad_input(
        "{}: the model has no converter of sound; a preset of KerasHub has one in audio_converter.json or "
        "preprocessor.json, a Hugging Face folder in preprocessor_config.json",
        loaded.file);
  if (converter->clip_lengths())
    throw bad_input(
        "{}: the converter is that of a model that reads sounds in prompts; expected that of Whisper or "
        "Moonshine",
        printable(converter->source()));
  const TranscriberParts parts{backend, loaded, tokenizer, execution, options, listener};
  return whisper ? open_whisper(parts, std::move(*converter)) : open_moonshine(parts, std::move(*converter));
}

}  // namespace attn::transcribe
