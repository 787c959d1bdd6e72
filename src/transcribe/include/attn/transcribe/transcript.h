// The words in a sound, with their times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::transcribe {

/// A word with its punctuation, and its times in seconds.
struct Word {
  double start = 0.0, end = 0.0;
  std::string text;  ///< valid UTF-8, with the space before it
};

/// A part of a sound, with its times in seconds.
struct Segment {
  double start = 0.0, end = 0.0;
  std::string text;                    ///< valid UTF-8
  std::vector<tokenizers::Id> tokens;  ///< including timestamps, without the end token
  std::vector<Word> words{};           ///< empty unless requested
};

struct Transcript {
  double seconds = 0.0;                 ///< length of the sound
  std::optional<std::string> language;  ///< code of the language: "en"; empty if the model has only one
  bool detected = false;                ///< whether the model chose the language
  std::vector<Segment> segments;
  std::string text;  ///< the texts of all segments
};

}  // namespace attn::transcribe
