// Folders with tokenizers that take long, grow, or refer to files outside.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "../places.h"
#include "attempt.h"

namespace attn::test {
namespace {

/// A tokenizer.json with a few letters, and optional parts.
std::string tokenizer_json(const std::string& pre_tokenizer, const std::string& vocabulary, const std::string& merges) {
  return fmt::format(R"({{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {},
    "post_processor": null, "decoder": null, "model": {{"type": "BPE", "vocab": {}, "merges": {}}}}})",
                     pre_tokenizer, vocabulary, merges);
}

/// The value, repeated between commas.
std::string list_of(const std::string& value, int count) {
  std::string out = value;
  for (int i = 1; i < count; ++i) out += "," + value;
  return out;
}

constexpr const char* kLetters = R"({"a": 0, "b": 1, "aa": 2, "aaa": 3})";

Attempt tokenize(const Folder& folder, const std::string& text) {
  return attempt({"tokenize", folder / "", "--texts", "-", "--format", "ids"}, "[\"" + text + "\"]");
}

}  // namespace

TEST_CASE("hostile tokenizer: a regular expression with excessive backtracking is stopped") {
  for (const std::string expression : {"(a+)+$", "(a|a)*b", "(?:a*)*c", "(a?){64}a{64}"}) {
    CAPTURE(expression);
    const Folder folder;
    const std::string split =
        R"({"type": "Split", "pattern": {"Regex": ")" + expression + R"("}, "behavior": "Isolated", "invert": false})";
    static_cast<void>(folder.file("tokenizer.json", tokenizer_json(split, kLetters, R"(["a a"])")));
    const Attempt tried = tokenize(folder, std::string(40, 'a') + "b");
    check_costs(tried, 1.0);
    if (tried.code != 0) check_refused(tried, "tokenizer.json", "takes too long");
  }
}

TEST_CASE("hostile tokenizer: an expression that scans the whole text at each character is stopped") {
  const Folder folder;
  const std::string split =
      R"({"type": "Split", "pattern": {"Regex": "a(?=[^b]*c)|a"}, "behavior": "Isolated", "invert": false})";
  static_cast<void>(folder.file("tokenizer.json", tokenizer_json(split, kLetters, "[]")));
  const Attempt tried = tokenize(folder, std::string(200'000, 'a'));
  CHECK(tried.code == 3);
  CHECK(contains(tried.err, "takes too long: it scans a text of 200000 bytes again and again"));
  check_costs(tried, 10.0);
}

TEST_CASE("hostile tokenizer: invalid or long expressions are rejected") {
  const std::string expressions[] = {"(", "[a", "a{99999}", "\\\\C", std::string(5000, 'a')};
  for (const std::string& expression : expressions) {
    CAPTURE(expression.substr(0, 20));
    const Folder folder;
    const std::string split =
        R"({"type": "Split", "pattern": {"Regex": ")" + expression + R"("}, "behavior": "Isolated", "invert": false})";
    static_cast<void>(folder.file("tokenizer.json", tokenizer_json(split, kLetters, "[]")));
    check_refused(tokenize(folder, "ab"), "tokenizer.json", "is not a regular expression that can be used");
  }
}

TEST_CASE("hostile tokenizer: rules without progress, and a word of a million characters, end") {
  const Folder folder;
  static_cast<void>(folder.file(
      "tokenizer.json", tokenizer_json("null", kLetters, R"(["a a", "aa a", "a aa", "aa aa", "aaa aaa", "b a"])")));
  const Attempt tried = tokenize(folder, std::string(1'000'000, 'a'));
  check_costs(tried, 5.0, std::int64_t{1} << 30);
  if (tried.code != 0) check_refused(tried, "tokenizer.json");
}

TEST_CASE("hostile tokenizer: impossible ids and parts are rejected") {
  struct Case {
    std::string text, part;
  };
  const Case cases[] = {
      {tokenizer_json("null", R"({"a": -1})", "[]"), ""},
      {tokenizer_json("null", R"({"a": 99999999999})", "[]"), ""},
      {tokenizer_json("null", R"({"a": 1.5})", "[]"), ""},
      {tokenizer_json("null", R"({"a": 0, "a": 1})", "[]"), ""},
      {tokenizer_json("null", kLetters, R"(["a"])"), ""},
      {tokenizer_json(R"({"type": "Surprise"})", kLetters, "[]"), "Surprise"},
      {tokenizer_json("null", kLetters, "[]").substr(0, 100), ""},
      {std::string(100'000, '['), ""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text.substr(0, 200));
    const Folder folder;
    static_cast<void>(folder.file("tokenizer.json", one.text));
    check_refused(tokenize(folder, "ab"), "tokenizer.json", one.part);
  }
}

TEST_CASE("hostile tokenizer: normalizers that lengthen a text repeatedly are stopped") {
  std::string rules = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  for (int i = 0; i < 6; ++i) rules += ", " + rules;  // 64 copies
  std::string file = tokenizer_json("null", kLetters, "[]");
  const std::string none = "\"normalizer\": null";
  file.replace(file.find(none), none.size(), R"("normalizer": {"type": "Sequence", "normalizers": [)" + rules + "]}");
  const Folder folder;
  static_cast<void>(folder.file("tokenizer.json", file));
  const Attempt tried = tokenize(folder, "a");
  check_refused(tried, "tokenizer.json", "from a text of 1");
  check_costs(tried, 10.0, std::int64_t{1} << 28);
}

TEST_CASE("hostile tokenizer: a truncated SentencePiece file is rejected at every length") {
  const Folder folder;
  const std::string preset = folder / "preset", file = preset + "/assets/tokenizer/vocabulary.spm";
  std::filesystem::copy(in_repository("tests/data/generation/t5/preset"), preset,
                        std::filesystem::copy_options::recursive);
  for (std::uintmax_t size = std::filesystem::file_size(file) - 1; size > 1; size = size * 2 / 3) {
    CAPTURE(size);
    std::filesystem::resize_file(file, size);
    check_refused(attempt({"tokenize", preset, "--text", "The model"}), "vocabulary.spm", "SentencePiece");
  }
}

TEST_CASE("hostile tokenizer: a pipe or a folder in place of a vocabulary is rejected without waiting") {
  const Folder folder;
  const std::string preset = folder / "preset", file = preset + "/assets/tokenizer/merges.txt";
  std::filesystem::copy(in_repository("tests/data/generation/gpt2/preset"), preset,
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  check_refused(attempt({"tokenize", preset, "--text", "The model"}), "merges.txt", "not a file");
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  check_refused(attempt({"tokenize", preset, "--text", "The model"}), "merges.txt", "not a file");
}

TEST_CASE("hostile tokenizer: a vocabulary of a gigabyte is rejected by its size") {
  for (const char* name : {"tokenizer.json", "vocab.txt", "tokenizer.model", "vocab.json"}) {
    CAPTURE(name);
    const Folder folder;
    const std::string path = folder.file(name, "{");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // a sparse file
    if (std::string(name) == "vocab.json") static_cast<void>(folder.file("merges.txt", ""));
    check_refused_bomb(tokenize(folder, "ab"), name);
  }
}

TEST_CASE("hostile tokenizer: a replaced, prepended or stripped string is one character") {
  struct Case {
    std::string part, pointer;
  };
  for (const std::string letter : {"", "__", "\u2581\u2581"})
    for (const Case& one :
         {Case{R"({"type": "Metaspace", "prepend_scheme": "always", "replacement": ")", "/replacement"},
          {R"({"type": "Metaspace", "prepend_scheme": "never", "replacement": ")", "/replacement"},
          {R"({"type": "Strip", "start": 4611686018427387904, "stop": 0, "content": ")", "/content"}}) {
      CAPTURE(one.part);
      CAPTURE(letter);
      std::string file = tokenizer_json("null", kLetters, "[]");
      const std::string none = "\"decoder\": null";
      file.replace(file.find(none), none.size(), "\"decoder\": " + one.part + letter + "\"}");
      const Folder folder;
      static_cast<void>(folder.file("tokenizer.json", file));
      check_refused(attempt({"tokenize", folder / "", "--ids", "0,1", "--decode"}), "tokenizer.json",
                    "/decoder" + one.pointer + ": expected one character");
    }
}

TEST_CASE("hostile tokenizer: steps that each double a text are stopped before memory runs out") {
  for (const std::string step :
       {R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})",
        R"({"type": "Metaspace", "replacement": "\u20ac", "prepend_scheme": "always", "split": true})"}) {
    CAPTURE(step);
    std::string steps = R"({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false})";
    for (int i = 0; i < 120; ++i) steps += ", " + step;
    const Folder folder;
    const std::string sequence = R"({"type": "Sequence", "pretokenizers": [)" + steps + "]}";
    static_cast<void>(folder.file("tokenizer.json", tokenizer_json(sequence, kLetters, "[]")));
    const Attempt tried = tokenize(folder, std::string(100'000, 'a') + "\u00e9 \u00e9");
    check_costs(tried, 10.0, std::int64_t{1} << 29);
    if (tried.code != 0) check_refused(tried, "tokenizer.json", "its rules make more than");
  }
  std::string steps = R"({"type": "Digits"})";
  for (int i = 0; i < 300; ++i) steps += R"(, {"type": "Digits"})";
  const Folder folder;
  const std::string sequence = R"({"type": "Sequence", "pretokenizers": [)" + steps + "]}";
  static_cast<void>(folder.file("tokenizer.json", tokenizer_json(sequence, kLetters, "[]")));
  check_refused(tokenize(folder, "a"), "tokenizer.json", "over 256 steps are not accepted");
}

TEST_CASE("hostile tokenizer: a rule that makes a thousand bytes of each character is stopped early") {
  for (const std::string pattern :
       {R"({"String": "a"})", R"({"String": ""})", R"({"Regex": ""})", R"({"Regex": "a"})"}) {
    CAPTURE(pattern);
    std::string file = tokenizer_json("null", kLetters, "[]");
    const std::string none = "\"normalizer\": null";
    file.replace(file.find(none), none.size(),
                 R"("normalizer": {"type": "Replace", "pattern": )" + pattern + R"(, "content": ")" +
                     std::string(1024, 'b') + "\"}");
    const Folder folder;
    static_cast<void>(folder.file("tokenizer.json", file));
    const Attempt tried = tokenize(folder, std::string(1'000'000, 'a'));
    CHECK(tried.code == 3);
    CHECK(contains(tried.err, "its rules make more than 16000000 bytes from a text of 1000000"));
    check_costs(tried, 10.0, std::int64_t{1} << 28);
  }
}

TEST_CASE("hostile tokenizer: an expression may not move where its match begins") {
  for (const std::string expression : {R"(a\\Kb)", R"((?(DEFINE)(?<n>\\Ka))(?<=(?&n)))", R"((?<=a\\K))"}) {
    CAPTURE(expression);
    const Folder folder;
    const std::string split =
        R"({"type": "Split", "pattern": {"Regex": ")" + expression + R"("}, "behavior": "Isolated", "invert": false})";
    static_cast<void>(folder.file("tokenizer.json", tokenizer_json(split, kLetters, "[]")));
    check_refused(tokenize(folder, "ab"), "tokenizer.json", "\\K is not accepted");
  }
}

TEST_CASE("hostile tokenizer: a token of over a kilobyte is rejected everywhere") {
  const std::string word(1025, 'a');
  for (const std::string& model : {R"({"type": "Unigram", "unk_id": 0, "vocab": [["a", 0], [")" + word + R"(", -1]]})",
                                   R"({"type": "WordPiece", "vocab": {"[UNK]": 0, ")" + word + R"(": 1}})"}) {
    const Folder folder;
    static_cast<void>(folder.file("tokenizer.json", R"({"version": "1.0", "model": )" + model + "}"));
    check_refused(tokenize(folder, "ab"), "tokenizer.json");
  }
  const Folder folder;
  static_cast<void>(folder.file("vocab.txt", "[UNK]\na\n" + word + "\n"));
  check_refused(tokenize(folder, "ab"), "vocab.txt", "has over 1024 bytes");
}

TEST_CASE("hostile tokenizer: a template that repeats a list of special tokens is rejected") {
  const auto with_processor = [](const std::string& processor) {
    std::string text = tokenizer_json("null", kLetters, "[]");
    const std::string none = R"("post_processor": null)";
    return text.replace(text.find(none), none.size(), R"("post_processor": )" + processor);
  };
  const std::string special = R"({"SpecialToken": {"id": "s"}})", bert = R"({"type": "BertProcessing",
    "sep": ["a", 0], "cls": ["b", 1]})";
  for (const std::string& processor :
       {fmt::format(R"({{"type": "TemplateProcessing", "single": [{}],
                         "special_tokens": {{"s": {{"ids": [{}]}}}}}})",
                    list_of(special, 20'000), list_of("0", 20'000)),
        fmt::format(R"({{"type": "Sequence", "processors": [{}]}})", list_of(bert, 100'000))}) {
    const Folder folder;
    static_cast<void>(folder.file("tokenizer.json", with_processor(processor)));
    const Attempt tried = tokenize(folder, "ab");
    check_refused(tried, "tokenizer.json", "over 1024 special tokens around a text are not accepted");
    check_costs(tried, 10.0, std::int64_t{256} << 20);
  }
}

TEST_CASE("hostile tokenizer: hundreds of thousands of stop tokens are read in linear time") {
  const Folder folder;
  std::string ids = "0";
  for (int id = 1; id < 400'000; ++id) ids += fmt::format(",{}", id);
  static_cast<void>(folder.file("tokenizer.json", tokenizer_json("null", kLetters, "[]")));
  static_cast<void>(folder.file("generation_config.json", R"({"eos_token_id": [)" + ids + "]}"));
  const Attempt tried = tokenize(folder, "ab");
  CHECK_MESSAGE(tried.code == 0, tried.err);
  check_costs(tried, kMostSeconds);
}

TEST_CASE("hostile tokenizer: a long list takes little more memory than its values") {
  std::string text = tokenizer_json("null", kLetters, "[]");
  const std::string none = R"("normalizer": null)";
  text.replace(text.find(none), none.size(),
               R"("normalizer": {"type": "Sequence", "normalizers": [)" + list_of("null", 1'000'000) + "]}");
  const Folder folder;
  static_cast<void>(folder.file("tokenizer.json", text));
  const Attempt tried = tokenize(folder, "ab");
  CHECK_MESSAGE(tried.code == 0, tried.err);
  check_costs(tried, 10.0, std::int64_t{96} << 20);
}

TEST_CASE(
    "tokenizers: megabytes of one character, of spaces, marks and added tokens take linear time, for every kind") {
  const std::size_t bytes = 1'000'000;
  const auto of = [&](const std::string& part) {
    std::string text;
    while (text.size() < bytes) text += part;
    return text;
  };
  for (const std::string name : {"gpt2", "llama3", "qwen2", "bert_classifier", "t5", "gemma", "llama", "opt"})
    for (const std::string part : {"a", " ", "!", "\u0301", "\u0323\u0301", "<s>", "<|endoftext|>", "[SEP]", "\u00e9",
                                   "1", "\ufdfa", " a", "\u6771"}) {
      CAPTURE(name);
      CAPTURE(part);
      const std::string model = in_repository("tests/data/tokenizers/" + name + "/preset");
      const Attempt tried = attempt({"tokenize", model, "--format", "ids"}, of(part));
      CHECK(tried.code == 0);
      // U+FDFA expands to 18 letters, and SentencePiece keeps each byte of a letter that is not a piece.
      check_costs(tried, 10.0, std::int64_t{1} << (part == "\ufdfa" ? 31 : 29));
    }
}

}  // namespace attn::test
