// Folders whose tokenizers are made to take long, to grow, or to lead out of themselves.
#include <doctest/doctest.h>
#include <fmt/format.h>

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
