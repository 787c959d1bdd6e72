#include "attn/tokenizers/text_stream.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/tokenizers/open.h"
#include "fixtures.h"

namespace attn::tokenizers {
namespace {

TEST_CASE("text stream: parts contain whole characters and add up to the text of all ids") {
  for (const std::string name : test::kCases) {
    CAPTURE(name);
    const auto tokenizer = open_tokenizer(test::tokenizer_case(name + "/preset"));
    TextStream stream(*tokenizer);
    const nlohmann::json expected = test::json_file(test::tokenizer_case(name + "/tokens.json"));
    for (const nlohmann::json& row : expected["rows"]) {
      CAPTURE(row.dump());
      std::string text;
      for (const Id id : row["ids"].get<std::vector<Id>>()) {
        const std::string part = stream.push(id);
        CHECK(is_utf8(part));
        text += part;
      }
      text += stream.finish();
      CHECK(text == tokenizer->decode(row["ids"].get<std::vector<Id>>()));
    }
  }
}

TEST_CASE("text stream: a character is returned with its last byte") {
  const auto tokenizer = open_tokenizer(test::tokenizer_case("gpt2/preset"));
  const std::vector<Id> ids = tokenizer->encode("🙂");
  REQUIRE(ids.size() > 1);
  TextStream stream(*tokenizer);
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) CHECK(stream.push(ids[i]).empty());
  CHECK(stream.push(ids.back()) == "🙂");
  CHECK(stream.finish().empty());
  CHECK(stream.push(ids[0]).empty());
  CHECK(stream.finish() == tokenizer->decode(std::vector<Id>{ids[0]}));
}

TEST_CASE("text stream: spaces of SentencePiece stay if tokens without text are in between") {
  const auto tokenizer = open_tokenizer(test::tokenizer_case("llama/preset"));
  std::vector<Id> ids = tokenizer->encode("the model");
  ids.insert(ids.begin(), *tokenizer->specials().start);
  ids.insert(ids.begin() + 2, {*tokenizer->specials().end, *tokenizer->specials().start});
  TextStream stream(*tokenizer);
  std::string text;
  for (int times = 0; times < 2; ++times)
    for (const Id id : ids) text += stream.push(id);
  ids.insert(ids.end(), ids.begin(), ids.end());
  CHECK(text + stream.finish() == tokenizer->decode(ids));
}

TEST_CASE("text stream: adjacent byte tokens are returned character by character") {
  for (const std::string name : test::kFolders) {
    CAPTURE(name);
    const auto tokenizer = open_tokenizer(test::tokenizer_case(name + "/hf"));
    for (const std::string text : {"\u6771\u4eac\u6771", "\U0001f642\U0001f680 \u6771", "a\u0416\u6771b"}) {
      CAPTURE(text);
      TextStream stream(*tokenizer);
      const std::vector<Id> ids = tokenizer->encode(text);
      std::string all;
      for (const Id id : ids) {
        const std::string part = stream.push(id);
        CHECK(is_utf8(part));
        all += part;
      }
      CHECK(all + stream.finish() == tokenizer->decode(ids));
    }
  }
}

TEST_CASE("text stream: many ids without text, and many invalid bytes, take linear time") {
  const auto gpt2 = open_tokenizer(test::tokenizer_case("gpt2/preset"));
  const Id byte = gpt2->encode("🙂").front();  // the first byte or bytes of a character
  TextStream bytes(*gpt2);
  std::vector<Id> ids(20'000, byte);
  std::string text;
  for (const Id id : ids) text += bytes.push(id);
  CHECK(text + bytes.finish() == gpt2->decode(ids));
  const auto llama = open_tokenizer(test::tokenizer_case("llama/preset"));
  const Id control = *llama->specials().start;
  ids = llama->encode("the model");
  ids.insert(ids.begin() + 1, 20'000, control);
  TextStream stream(*llama);
  text.clear();
  for (const Id id : ids) text += stream.push(id);
  CHECK(text + stream.finish() == llama->decode(ids));
}

TEST_CASE("text stream: an id outside the vocabulary is rejected") {
  const auto tokenizer = open_tokenizer(test::tokenizer_case("t5/preset"));
  TextStream stream(*tokenizer);
  CHECK_THROWS_AS(static_cast<void>(stream.push(100000)), Error);
  CHECK_THROWS_AS(static_cast<void>(stream.push(-1)), Error);
}

}  // namespace
}  // namespace attn::tokenizers
