// A tokenizer.json that is valid JSON for any input: the bytes select its steps, their order and contents. Mutations
// therefore reach the steps, not only the parser.
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "attn/tokenizers/text_stream.h"
#include "files/tokenizer_json.h"
#include "pipeline/pipeline.h"
#include "target.h"

namespace {

using nlohmann::json;

constexpr std::array kContents{"", "a", " ", "\u2581", "aa", "\u00e9", "\ufdfa", "\u0120", "<s>", "bbbbbbbbbbbbbbbb"};
constexpr std::array kExpressions{"",        "a", "a*",  "\\s+", "(?=a)",  "(?<=a)", "[^a]",
                                  "\\p{L}+", ".", "\\b", "^",    "(a+)+$", "a\\Kb",  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"};
constexpr std::array kBehaviors{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
constexpr std::array kSchemes{"always", "first", "never"};

class Draw {
 public:
  Draw(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::size_t below(std::size_t count) { return at_ < size_ ? data_[at_++] % count : 0; }
  bool flag() { return below(2) == 1; }
  template <std::size_t N>
  const char* of(const std::array<const char*, N>& words) {
    return words[below(N)];
  }
  std::string rest() { return {reinterpret_cast<const char*>(data_ + at_), size_ - at_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

json pattern(Draw& draw) {
  return draw.flag() ? json{{"String", draw.of(kContents)}} : json{{"Regex", draw.of(kExpressions)}};
}
json metaspace(Draw& draw) {
  return {{"type", "Metaspace"},
          {"replacement", draw.of(kContents)},
          {"prepend_scheme", draw.of(kSchemes)},
          {"split", draw.flag()}};
}
json replace(Draw& draw) { return {{"type", "Replace"}, {"pattern", pattern(draw)}, {"content", draw.of(kContents)}}; }

json normalizer(Draw& draw) {
  constexpr std::array kPlain{"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer", "Strip"};
  switch (draw.below(3)) {
    case 0:
      return {{"type", draw.of(kPlain)}};
    case 1:
      return {{"type", "Prepend"}, {"prepend", draw.of(kContents)}};
    default:
      return replace(draw);
  }
}

json pre_tokenizer(Draw& draw) {
  constexpr std::array kPlain{"BertPreTokenizer", "WhitespaceSplit", "Whitespace", "Digits", "Punctuation"};
  switch (draw.below(4)) {
    case 0:
      return {{"type", draw.of(kPlain)}};
    case 1:
      return {{"type", "ByteLevel"}, {"add_prefix_space", draw.flag()}, {"use_regex", draw.flag()}};
    case 2:
      return metaspace(draw);
    default:
      return {
          {"type", "Split"}, {"pattern", pattern(draw)}, {"behavior", draw.of(kBehaviors)}, {"invert", draw.flag()}};
  }
}

json decoder(Draw& draw) {
  constexpr std::array kPlain{"ByteLevel", "ByteFallback", "Fuse"};
  switch (draw.below(5)) {
    case 0:
      return {{"type", draw.of(kPlain)}};
    case 1:
      return metaspace(draw);
    case 2:
      return {{"type", "WordPiece"}, {"prefix", draw.of(kContents)}, {"cleanup", draw.flag()}};
    case 3:
      return {
          {"type", "Strip"}, {"content", draw.of(kContents)}, {"start", draw.below(256)}, {"stop", draw.below(256)}};
    default:
      return replace(draw);
  }
}

json several(Draw& draw, json (*make)(Draw&), const char* key) {
  json steps = json::array();
  for (std::size_t left = draw.below(6); left > 0; --left) steps.push_back(make(draw));
  return {{"type", "Sequence"}, {key, steps}};
}

json model(Draw& draw) {
  constexpr std::array kTypes{"BPE", "WordPiece", "Unigram"};
  const std::string type = draw.of(kTypes);
  constexpr std::array kTokens{"[UNK]", "a",      "b",      "aa",     "\u2581", "\u2581a",
                               "##a",   "\u0120", "\u00c3", "\u00a9", "<0x0A>"};
  json ids = json::object(), scores = json::array();
  for (std::size_t i = 0; i < kTokens.size(); ++i) {
    ids[kTokens[i]] = i;
    scores.push_back({kTokens[i], -1.0 * static_cast<double>(draw.below(16))});
  }
  if (type == "Unigram") return {{"type", type}, {"unk_id", 0}, {"byte_fallback", draw.flag()}, {"vocab", scores}};
  if (type == "WordPiece") return {{"type", type}, {"unk_token", "[UNK]"}, {"vocab", ids}};
  return {{"type", type},
          {"vocab", ids},
          {"merges", {"a a", "\u2581 a"}},
          {"byte_fallback", draw.flag()},
          {"ignore_merges", draw.flag()}};
}

json added_tokens(Draw& draw) {
  json tokens = json::array();
  for (std::size_t left = draw.below(4), id = 11; left > 0; --left, ++id)
    tokens.push_back({{"id", id},
                      {"content", draw.of(kContents) + std::string(left, 'x')},
                      {"special", draw.flag()},
                      {"normalized", draw.flag()},
                      {"single_word", draw.flag()},
                      {"lstrip", draw.flag()},
                      {"rstrip", draw.flag()}});
  return tokens;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  Draw draw(data, size);
  json file = {{"model", model(draw)}, {"added_tokens", added_tokens(draw)}};
  file["normalizer"] = several(draw, normalizer, "normalizers");
  file["pre_tokenizer"] = several(draw, pre_tokenizer, "pretokenizers");
  file["decoder"] = several(draw, decoder, "decoders");
  const std::string text = tokenizers::valid_utf8(draw.rest());
  fuzz::accepts([&] {
    const tokenizers::Pipeline tokenizer(
        tokenizers::parts_of(tokenizers::read_tokenizer_json(file.dump(), "tokenizer.json")));
    const std::vector<tokenizers::Id> ids = tokenizer.encode(text);
    for (const tokenizers::Id id : ids)
      if (!tokenizer.token(id)) fuzz::fail("an id without a token", std::to_string(id));
    static_cast<void>(tokenizer.decode(ids));
    std::string streamed;
    tokenizers::TextStream stream(tokenizer);
    for (const tokenizers::Id id : ids) streamed += stream.push(id);
    streamed += stream.finish();
  });
  return 0;
}
