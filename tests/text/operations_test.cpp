// tests/data/text/operations.json contains the results of TensorFlow's string operations.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../places.h"
#include "attn/text/hash.h"
#include "attn/text/splitting.h"

namespace {

using namespace attn::text;
using nlohmann::json;

const json& operations() {
  static const json table = [] {
    std::ifstream file(attn::test::in_repository("tests/data/text/operations.json"));
    REQUIRE(file.good());
    return json::parse(file);
  }();
  return table;
}

std::string bytes_of(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

std::vector<std::string> strings_of(const json& list) {
  std::vector<std::string> out;
  for (const auto& item : list) out.push_back(bytes_of(item.get<std::string>()));
  return out;
}

}  // namespace

TEST_CASE("text: strings of any length have the buckets of TensorFlow's fast and strong hash") {
  const std::vector<std::string> strings = strings_of(operations()["strings"]);
  const auto buckets = operations()["buckets"].get<std::int64_t>();
  REQUIRE(strings.size() > 70);
  for (std::size_t i = 0; i < strings.size(); ++i) {
    CAPTURE(strings[i].size());
    CHECK(bucket_of(strings[i], buckets, {}) == operations()["fast"][i].get<std::int64_t>());
    for (const json& strong : operations()["strong"]) {
      const Salt salt{static_cast<std::uint64_t>(strong["key"][0].get<std::int64_t>()),
                      static_cast<std::uint64_t>(strong["key"][1].get<std::int64_t>())};
      CHECK(bucket_of(strings[i], buckets, salt) == strong["buckets"][i].get<std::int64_t>());
    }
  }
}

TEST_CASE("text: lowercasing and stripping equal tf.strings.lower and regex_replace") {
  const std::vector<std::string> texts = strings_of(operations()["texts"]);
  const std::vector<std::string> lower = strings_of(operations()["lower"]), strip = strings_of(operations()["strip"]);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    CHECK(standardized(texts[i], {.lower = true}) == lower[i]);
    CHECK(standardized(texts[i], {.strip_punctuation = true}) == strip[i]);
  }
}

TEST_CASE("text: texts are split as in TensorFlow, at whitespace or characters, also if they are not UTF-8") {
  const std::vector<std::string> texts = strings_of(operations()["texts"]);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    CHECK(pieces_of(texts[i], Split::whitespace) == strings_of(operations()["whitespace"][i]));
    CHECK(pieces_of(texts[i], Split::character) == strings_of(operations()["character"][i]));
    CHECK(pieces_of(texts[i], Split::whole) == std::vector{texts[i]});
  }
}

TEST_CASE("text: n-grams are ordered by width, and the text has none wider than itself") {
  const std::vector<std::string> terms = strings_of(operations()["terms"]);
  for (const json& row : operations()["ngrams"])
    CHECK(ngrams_of(terms, row["widths"].get<std::vector<std::int64_t>>()) == strings_of(row["grams"]));
  CHECK(ngrams_of(terms, {}) == terms);
}
