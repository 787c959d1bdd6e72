#include "attn/io/json_text.h"

#include <nlohmann/json.hpp>
#include <string>

#include "support.h"

namespace attn::io {
namespace {

std::string refused(std::string_view text) {
  return refusal([&] { static_cast<void>(parse_json(text, "x.json")); });
}
std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST_CASE("json text: values of every kind are read") {
  const auto json = parse_json(R"({"a": [null, true, -1, 18446744073709551615, 0.5, "b"], "c": {}})", "x.json");
  CHECK(json["a"].size() == 6);
  CHECK(json["a"][2] == -1);
  CHECK(json["a"][3] == 18446744073709551615U);
  CHECK(json["a"][5] == "b");
  CHECK(json["c"].empty());
}

TEST_CASE("json text: invalid JSON is rejected with its place") {
  CHECK(refused("{\"a\": 1,}") == "x.json: not valid JSON at its byte 9: a comma before '}'");
  CHECK(refused("") == "x.json: not valid JSON at its byte 1: an empty text");
  CHECK(refused("1 2").starts_with("x.json: not valid JSON"));
  CHECK(refused("\"\xff\"").starts_with("x.json: not valid JSON"));
  CHECK(refused("[1e400]").starts_with("x.json: not valid JSON"));
  CHECK(refused(std::string_view("1\0", 2)) == "x.json: not valid JSON: a null character");
}

TEST_CASE("json text: a repeated key in one object is rejected, in two objects accepted") {
  CHECK(refused(R"({"a": 1, "b\u001b": 2, "b\u001b": 3})") == "x.json: the key 'b\\u{1b}' occurs twice in one object");
  CHECK(parse_json(R"([{"a": 1}, {"a": {"a": 2}}])", "x.json")[1]["a"]["a"] == 2);
}

TEST_CASE("json text: depth, keys, strings, values and bytes are limited") {
  CHECK(is_accepted([] { static_cast<void>(parse_json(repeated("[", 64) + repeated("]", 64), "x")); }));
  CHECK(refused(repeated("[", 65)) == "x.json: nesting deeper than 64 is not accepted");
  const std::string key(1025, 'k');
  CHECK(is_accepted([&] { static_cast<void>(parse_json("{\"" + key.substr(1) + "\": 1}", "x")); }));
  CHECK(refused("{\"" + key + "\": 1}") == "x.json: a key of over 1 KiB is not accepted");
  const std::string text((1 << 20) + 1, 't');
  CHECK(is_accepted([&] { static_cast<void>(parse_json("\"" + text.substr(1) + "\"", "x")); }));
  CHECK(refused("\"" + text + "\"") == "x.json: a string of over 1 MiB is not accepted");
  CHECK(refused("[" + repeated("1,", 2'000'000)) == "x.json: more than 2000000 values are not accepted");
  CHECK(refused(std::string((64 << 20) + 1, ' ')) == "x.json: JSON of over 64 MiB is not accepted");
}

TEST_CASE("json text: a table's members are read one by one, and the rest as a tree") {
  std::string taken;
  const std::vector<JsonTable> tables = {
      {"/model/vocab",
       [&](std::string_view key, const nlohmann::json& value) { taken += std::string(key) + value.dump(); }},
      {"/model/merges", [&](std::string_view, const nlohmann::json& value) { taken += value.dump(); }}};
  const auto json =
      parse_json(R"({"model": {"vocab": {"a": 1, "a": 2}, "merges": [["a", "b"], "c d"], "x": {"vocab": [3]}}})",
                 "x.json", {}, tables);
  CHECK(taken == R"(a1a2["a","b"]"c d")");
  CHECK(json.dump() == R"({"model":{"merges":[],"vocab":{},"x":{"vocab":[3]}}})");
  taken.clear();
  const std::vector<JsonTable> whole = {
      {"", [&](std::string_view key, const nlohmann::json& value) { taken += std::string(key) + value.dump(); }}};
  CHECK(parse_json(R"({"a": {"b": 1}, "c": 2})", "x.json", {}, whole).empty());
  CHECK(taken == R"(a{"b":1}c2)");
  CHECK(refusal([&] {
          static_cast<void>(parse_json("[1, 2, 3]", "x.json", {100, 3}, whole));
        }) == "x.json: more than 3 values are not accepted");
}

}  // namespace
}  // namespace attn::io
