// Transcripts of sounds, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/report/format.h"
#include "attn/transcribe/transcript.h"

namespace attn::report {

struct TranscriptReport {
  std::string path, class_name, tokenizer;  ///< path and class of the model, and class of the tokenizer
  std::string weights;                      ///< source of the weights
  std::vector<std::string> files;           ///< the sounds
  std::vector<transcribe::Transcript> transcripts;
  bool translated = false, has_times = false, has_words = false;
};

/// text: the text of each sound; with times, a line for each segment, or with words for each word. json:
/// "attn.transcribe/1". html: a page with tables of segments or words.
[[nodiscard]] std::string render(Format format, const TranscriptReport& report);

/// Returns the segments of a transcript, or its words if it has any, as subtitles in the SubRip format.
[[nodiscard]] std::string subtitles(const transcribe::Transcript& transcript);

}  // namespace attn::report
