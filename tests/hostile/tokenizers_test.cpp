// Folders whose tokenizers are made to take long, to grow, or to lead out of themselves.
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

/// A tokenizer.json of a few letters, with other parts where they are given.
std::string tokenizer_json(const std::string& pre_tokenizer, const std::string& vocabulary, const std::string& merges) {
  return fmt::format(R"({{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {},
    "post_processor": null, "decoder": null, "model": {{"type": "BPE", "vocab": {}, "merges": {}}}}})",
                     pre_tokenizer, vocabulary, merges);
}

constexpr const char* kLetters = R"({"a": 0, "b": 1, "aa": 2, "aaa": 3})";

Attempt tokenize(const Folder& folder, const std::string& text) {
  return attempt({"tokenize", folder / "", "--texts", "-", "--format", "ids"}, "[\"" + text + "\"]");
}

}  // namespace

TEST_CASE("hostile tokenizer: a regular expression that runs away is stopped") {
  for (const std::string expression : {"(a+)+$", "(a|a)*b", "(?:a*)*c", "(a?){64}a{64}"}) {
    CAPTURE(expression);
    const Folder folder;
    const std::string split =
        R"({"type": "Split", "pattern": {"Regex": ")" + expression + R"("}, "behavior": "Isolated", "invert": false})";
    static_cast<void>(folder.file("tokenizer.json", tokenizer_json(split, kLetters, R"(["a a"])")));
    const Attempt tried = tokenize(folder, std::string(40, 'a') + "b");
    CHECK(tried.seconds < 1.0);
    if (tried.code != 0) check_refused(tried, "tokenizer.json", "goes too far");
  }
}

TEST_CASE("hostile tokenizer: an expression that looks through the whole text at each letter is stopped") {
  const Folder folder;
  const std::string split =
      R"({"type": "Split", "pattern": {"Regex": "a(?=[^b]*c)|a"}, "behavior": "Isolated", "invert": false})";
  static_cast<void>(folder.file("tokenizer.json", tokenizer_json(split, kLetters, "[]")));
  const Attempt tried = tokenize(folder, std::string(200'000, 'a'));
  CHECK(tried.code == 3);
  CHECK(contains(tried.err, "goes too far: it looks through a text of 200000 bytes again and again"));
  CHECK(tried.seconds < 10.0);
}

TEST_CASE("hostile tokenizer: expressions that are none, or too long, are refused") {
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

TEST_CASE("hostile tokenizer: rules that give what they took, and a word of a million letters, end") {
  const Folder folder;
  static_cast<void>(folder.file(
      "tokenizer.json", tokenizer_json("null", kLetters, R"(["a a", "aa a", "a aa", "aa aa", "aaa aaa", "b a"])")));
  const Attempt tried = tokenize(folder, std::string(1'000'000, 'a'));
  CHECK(tried.seconds < 5.0);
  CHECK(tried.peak < std::int64_t{1} << 30);
  if (tried.code != 0) check_refused(tried, "tokenizer.json");
}

TEST_CASE("hostile tokenizer: ids and parts that cannot be are refused") {
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

TEST_CASE("hostile tokenizer: normalizers that make a text longer and longer are stopped") {
  std::string rules = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  for (int i = 0; i < 6; ++i) rules += ", " + rules;  // 64 of them
  std::string file = tokenizer_json("null", kLetters, "[]");
  const std::string none = "\"normalizer\": null";
  file.replace(file.find(none), none.size(), R"("normalizer": {"type": "Sequence", "normalizers": [)" + rules + "]}");
  const Folder folder;
  static_cast<void>(folder.file("tokenizer.json", file));
  const Attempt tried = tokenize(folder, "a");
  check_refused(tried, "tokenizer.json", "of a text of 1");
  CHECK(tried.peak < std::int64_t{1} << 28);
}

TEST_CASE("hostile tokenizer: a file of SentencePiece that is cut short is refused wherever it ends") {
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

TEST_CASE("hostile tokenizer: a pipe or a folder in the place of a vocabulary is refused, and nobody waits") {
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

TEST_CASE("hostile tokenizer: a vocabulary of a gigabyte is refused by its size") {
  for (const char* name : {"tokenizer.json", "vocab.txt", "tokenizer.model", "vocab.json"}) {
    CAPTURE(name);
    const Folder folder;
    const std::string path = folder.file(name, "{");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // which takes no room on the disk
    if (std::string(name) == "vocab.json") static_cast<void>(folder.file("merges.txt", ""));
    check_refused_bomb(tokenize(folder, "ab"), name);
  }
}

}  // namespace attn::test
