// Words of tokens, as transformers 5.24 groups them (_combine_tokens_into_words).
#include "words.h"

#include <doctest/doctest.h>

#include <string>

#include "../places.h"
#include "attn/keras/families.h"
#include "attn/tokenizers/open.h"

using attn::transcribe::has_spaces;

namespace {

/// Returns "[ Hello 0-5] [, 6-6]" of a text.
std::string grouped(const std::string& text, bool spaced) {
  const auto tokenizer = attn::tokenizers::open_tokenizer(attn::test::in_repository("tests/data/transcribe/whisper"),
                                                          attn::keras::tokenizer_tables());
  std::string out;
  for (const auto& [word, first, last] : attn::transcribe::words_of(*tokenizer, tokenizer->encode(text), spaced))
    out += "[" + word + " " + std::to_string(first) + "-" + std::to_string(last) + "]";
  return out;
}

}  // namespace

TEST_CASE("words: tokens are grouped at spaces, and punctuation joins a word") {
  CHECK(grouped(" Hello (there), that's the \"end\": 5 in all!", true) ==
        "[ Hello 0-5][ (there), 6-12][ that 13-15]['s 16-17][ the 18-19][ \"end\": 20-26][ 5 27-28][ in 29-30]"
        "[ all! 31-34]");
  CHECK(grouped(" ¿Qué — no?", true) == "[ ¿Qué 0-6][ — 7-10][ no? 11-14]");
  CHECK(grouped("", true).empty());
}

TEST_CASE("words: languages without spaces are divided into characters") {
  CHECK(grouped("你好，世界。", false) == "[你 0-2][好， 3-8][世 9-11][界。 12-17]");
  CHECK_FALSE(has_spaces("zh"));
  CHECK(has_spaces("fr"));
  CHECK(has_spaces(std::nullopt));
}
