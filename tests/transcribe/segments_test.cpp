// The segments of a window, as transformers 5.24 divides the same tokens (WhisperGenerationMixin._retrieve_segment).
#include "segments.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using attn::transcribe::Id;
using attn::transcribe::Part;
using attn::transcribe::Parts;
using attn::transcribe::split;
using attn::transcribe::WhisperTokens;

namespace {

constexpr Id kFirst = 100, kSteps = 50;  // 103 is the timestamp of step 3

Parts parts_of(const std::vector<Id>& tokens) {
  WhisperTokens special;
  special.no_timestamps = kFirst - 1;
  return split(tokens, special, kSteps);
}

/// Returns "3-5: 103 7 105; " for each part, and the step of the next window.
std::string text_of(const Parts& parts) {
  std::string out;
  for (const Part& part : parts.parts) {
    out += std::to_string(part.start) + "-" + std::to_string(part.end) + ":";
    for (const Id id : part.tokens) out += " " + std::to_string(id);
    out += "; ";
  }
  return out + std::to_string(parts.next);
}

}  // namespace

TEST_CASE("segments: a window that begins with two timestamps has a part of them, and the next begins there") {
  CHECK(text_of(parts_of({103, 103})) == "3-3: 103 103; 3");
  CHECK(text_of(parts_of({103, 103, 7})) == "3-3: 103 103; 3");
  CHECK(text_of(parts_of({103, 104, 105})) == "3-3: 103; 4-4: 104 105; 4");
}

TEST_CASE("segments: an unfinished part is left to the next window, which begins at the end of the last part") {
  CHECK(text_of(parts_of({100, 7, 105, 105})) == "0-5: 100 7 105 105; 5");
  CHECK(text_of(parts_of({100, 7, 105, 105, 8})) == "0-5: 100 7 105 105; 5");
  CHECK(text_of(parts_of({100, 7, 105, 105, 8, 109, 109, 9})) == "0-5: 100 7 105; 5-9: 105 8 109 109; 9");
}

TEST_CASE("segments: a single timestamp at the end, or no pair of timestamps, ends the window") {
  CHECK(text_of(parts_of({100, 7, 105, 105, 8, 109})) == "0-5: 100 7 105; 5-9: 105 8 109; 50");
  CHECK(text_of(parts_of({100, 7, 105})) == "0-5: 100 7 105; 50");
  CHECK(text_of(parts_of({103})) == "0-3: 103; 50");
  CHECK(text_of(parts_of({7, 8})) == "0-50: 7 8; 50");
  CHECK(text_of(parts_of({})) == "0-50:; 50");
}

TEST_CASE("segments: steps are within the window, unlike those of transformers") {
  CHECK(text_of(parts_of({7, 105, 105, 8})) == "0-5: 7 105 105; 5");
  CHECK(text_of(parts_of({100, 7, 190, 190, 8})) == "0-50: 100 7 190 190; 50");
}
