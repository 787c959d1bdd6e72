// Invalid JSON, JSON that is not a model, and models with impossible numbers, names and graphs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "../instrumented.h"
#include "attempt.h"
#include "attn/base/text.h"

namespace attn::test {
namespace {

using namespace std::string_literals;

/// Texts that every RFC 8259 parser rejects.
std::vector<std::string> broken_texts() {
  std::vector<std::string> texts = {
      "",
      " ",
      "\n",
      "\xEF\xBB\xBF",
      "[",
      "]",
      "{",
      "}",
      "[}",
      "{]",
      "[[]",
      "[]]",
      "{}}",
      "{{}}",
      "[,]",
      "[,1]",
      "[1,]",
      "[1,,2]",
      "[,,]",
      "[1 2]",
      "[1\n2]",
      "[1:2]",
      "[\"a\":1]",
      "[{]",
      "[{}",
      "{\"a\"",
      "{\"a\":",
      "{\"a\":1",
      "{\"a\" 1}",
      "{\"a\":1,}",
      "{\"a\":1,,\"b\":2}",
      "{,\"a\":1}",
      "{\"a\"::1}",
      "{\"a\":1 \"b\":2}",
      "{\"a\":1:2}",
      "{a:1}",
      "{'a':1}",
      "{1:1}",
      "{null:1}",
      "{[]:1}",
      "{\"a\":}",
      "{:1}",
      "{\"a\",1}",
      "{\"a\";1}",
      "{\"a\":1}#",
      "{\"a\":1}//",
      "{\"a\":1}/**/",
      "/*a*/{}",
      "//a\n{}",
      "#a\n{}",
      "{} {}",
      "[] []",
      "1 2",
      "nulll",
      "null null",
      "{}x",
      "{}\x01",
      "[]\f",
      "[\f]",
      "[\v]",
      "\f[]",
      "[\xC2\xA0]",
      "[\xE2\x80\xA8]",
      "[\xEF\xBB\xBF]",
      "\xFF\xFE[\0]\0"s,
      "\xFE\xFF\0[\0]"s,
      "[\0]"s,
      "[]\0"s,
      "\0[]"s,
      "{\"a\":1}\0"s,
      // literals
      "nul",
      "nulL",
      "NULL",
      "Null",
      "tru",
      "True",
      "TRUE",
      "truee",
      "fals",
      "False",
      "undefined",
      "None",
      "nan",
      "-NaN",
      "+Infinity",
      "inf",
      "-inf",
      "Inf",
      "a",
      "*",
      "?",
      "<null>",
      "<!-- -->",
      // numbers
      "-",
      "+",
      "+1",
      "--1",
      "- 1",
      "01",
      "-01",
      "00",
      "1.",
      "-1.",
      ".1",
      "-.1",
      "1.e1",
      ".e1",
      "1e",
      "1e+",
      "1e-",
      "1E",
      "1eE2",
      "1e1.5",
      "1e1e1",
      "1.2.3",
      "1..2",
      "0x",
      "0x1",
      "0X1F",
      "1_000",
      "1,000",
      "1'000",
      "0b1",
      "0o7",
      "1f",
      "1L",
      "1.0f",
      "1 000",
      "\xEF\xBC\x91",
      "1e400",
      "-1e400",
      "1E1000000",
      "[1e309]",
      "[-1e309]",
      "2.",
      "0e",
      "0.",
      "0.e1",
      "1.a",
      "-a",
      "1a",
      "1-",
      "1+1",
      // strings
      "\"",
      "\"a",
      "\"\\\"",
      "\"\\",
      "\"\\a\"",
      "\"\\x00\"",
      "\"\\'\"",
      "\"\\0\"",
      "\"\\v\"",
      "\"\\u\"",
      "\"\\u1\"",
      "\"\\u12\"",
      "\"\\u123\"",
      "\"\\u123g\"",
      "\"\\uG000\"",
      "\"\\U00000041\"",
      "\"\\u{41}\"",
      "\"\\ 1\"",
      "\"\\\n\"",
      "\"a\nb\"",
      "\"a\tb\"",
      "\"a\rb\"",
      "\"\x01\"",
      "\"\x1f\"",
      "\"\0\""s,
      "\"a\0b\""s,
      "'a'",
      "`a`",
      "\"a\"\"b\"",
      "\"a\" \"b\"",
      "a\"b\"",
      "\"a\"b",
      "\xE2\x80\x9C"s + "a\xE2\x80\x9D",
      "\"\\ud800\"",
      "\"\\udc00\"",
      "\"\\ud800\\ud800\"",
      "\"\\ud800x\"",
      "\"\\ud800\\n\"",
      "\"\\udc00\\ud800\"",
      "\"\\uD83D\\u0041\"",
      "\"\\ud800\\u\"",
      "\"\\ud800\\udc0\"",
      "{\"\\ud800\":1}",
      // encodings
      "\"\x80\"",
      "\"\xbf\"",
      "\"\xc0\x80\"",
      "\"\xc0\xaf\"",
      "\"\xc1\xbf\"",
      "\"\xc3\"",
      "\"\xc3(\"",
      "\"\xe0\x80\x80\"",
      "\"\xe0\x9f\xbf\"",
      "\"\xe2\x82\"",
      "\"\xe2(\xa1\"",
      "\"\xe2\x82(\"",
      "\"\xed\xa0\x80\"",
      "\"\xed\xbf\xbf\"",
      "\"\xed\xa0\xbd\xed\xb8\x80\"",
      "\"\xf0\x80\x80\x80\"",
      "\"\xf0\x8f\xbf\xbf\"",
      "\"\xf0\x9f\x98\"",
      "\"\xf0(\x8c\xbc\"",
      "\"\xf4\x90\x80\x80\"",
      "\"\xf5\x80\x80\x80\"",
      "\"\xf8\x88\x80\x80\x80\"",
      "\"\xfc\x84\x80\x80\x80\x80\"",
      "\"\xfe\"",
      "\"\xff\"",
      "[\xff]",
      "{\"\xff\":1}",
      "\xe9",
      "[\xe4\xb8\xad]",
      // valid for other programs
      "[1,2,3,\n# a comment\n4]",
      "{\"a\": (1)}",
      "{\"a\": [1,2,]}",
      "{\"a\": 'b'}",
      "{\"a\": True}",
      "{\"a\": None}",
      "{\"a\": (1, 2)}",
      "{\"a\": datetime(1)}",
      "- a\n- b\n",
      "a: 1\n",
      "[a]\nb = 1\n",
      "<?xml version=\"1.0\"?>",
      "<html></html>",
      "import os\n",
      "\x80\x04\x95.",
      "#!/bin/sh\n",
      "%PDF-1.4",
      "GGUF\x03\0\0\0"s,
      "\x1f\x8b\x08\0"s,
      "\x7f"
      "ELF\x02\x01\x01",
  };
  return texts;
}

/// Valid JSON that is not a model.
std::vector<std::string> other_values() {
  return {
      "null",
      "NaN",
      "Infinity",
      "-Infinity",
      "true",
      "false",
      "0",
      "-0",
      "1",
      "-1",
      "0.0",
      "-0.0",
      "1.5",
      "1e1",
      "1E1",
      "1e+1",
      "1e-1",
      "1E+10",
      "1e-400",
      "5e-324",
      "1.7976931348623157e308",
      "123456789.123456789e-5",
      "0e1",
      "0e+1",
      "-1.5e-7",
      "2147483648",
      "4294967296",
      "9007199254740993",
      "9223372036854775807",
      "-9223372036854775808",
      "\"\"",
      "\"a\"",
      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
      "\"\\u0041\"",
      "\"\\u0000\"",
      "\"\\u001b\"",
      "\"\\ud83d\\ude00\"",
      "\"\xf0\x9f\x98\x80\"",
      "\"\xc3\xa9\"",
      "\"\\u202e\"",
      "\"\\uffff\"",
      "\"\\ufdd0\"",
      "\"\xef\xbf\xbf\"",
      "\"\x7f\"",
      "\"\xe2\x80\xa8\"",
      "\" \"",
      "\"http://127.0.0.1/\"",
      "\"/etc/passwd\"",
      "[]",
      "[ ]",
      "[[]]",
      "[{}]",
      "[null]",
      "[1,2]",
      "[1, \"a\", {}]",
      "\t[1]\n",
      "\r\n[\r\n]\r\n",
      "{}",
      "{ }",
      "{\"\":0}",
      "{\"a\":1}",
      "{\"a\":{\"b\":[1,{\"c\":null}]}}",
      "{\"a\\u0000b\":1}",
      "{\"\\u001b\":1}",
      "{\"\\ud83d\\ude00\":1}",
      "{\"a\":1,\"A\":2}",
      "{\"a\":\"\\u0000\"}",
      "{\"class_name\":1}",
      "{\"class_name\":\"\"}",
      "{\"class_name\":null}",
      "{\"class_name\":[]}",
      "{\"class_name\":{}}",
      "{\"config\":{}}",
      "{\"config\":1}",
      "{\"config\":[]}",
      "{\"layers\":1}",
      "{\"layers\":{}}",
      "{\"class_name\":\"Functional\"}",
      "{\"class_name\":\"Functional\",\"config\":null}",
      "{\"class_name\":\"Functional\",\"config\":[]}",
      "{\"class_name\":\"Functional\",\"config\":{}}",
      "{\"class_name\":\"Sequential\",\"config\":{}}",
      "{\"class_name\":\"Sequential\",\"config\":1}",
      "{\"class_name\":\"Sequential\",\"config\":{\"layers\":1}}",
      "{\"class_name\":\"Sequential\",\"config\":{\"layers\":{}}}",
      "{\"class_name\":\"Sequential\",\"config\":{\"layers\":[1]}}",
      "{\"class_name\":\"Sequential\",\"config\":{\"layers\":[null]}}",
      "{\"class_name\":\"Sequential\",\"config\":{\"layers\":[[]]}}",
      "{\"class_name\":\"Sequential\",\"config\":{\"layers\":[{}]}}",
      "{\"class_name\":\"Model\",\"config\":{}}",
      "{\"module\":\"keras\",\"class_name\":\"Nothing\"}",
  };
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

/// Members of an object.
std::string many_keys(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{}\"k{}\": 0", i == 0 ? "" : ", ", i);
  return out;
}

}  // namespace

TEST_CASE("json: invalid JSON is rejected with line and column") {
  const std::vector<std::string> texts = broken_texts();
  REQUIRE(texts.size() >= 200);
  for (const std::string& text : texts) {
    CAPTURE(text);
    check_refused(summarise(text), "stdin:", "not valid JSON");
  }
}

TEST_CASE("json: JSON that is not a model is rejected as such") {
  const std::vector<std::string> texts = other_values();
  REQUIRE(texts.size() >= 85);
  for (const std::string& text : texts) {
    CAPTURE(text);
    const Attempt result = summarise(text);
    check_refused(result, "stdin");
    CHECK_FALSE(contains(result.err, "not valid JSON"));
  }
}

TEST_CASE("json: depth, repeated keys, long keys and strings, and many values are rejected at their limits") {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::vector<Case> cases = {
      {repeated("[", 65) + repeated("]", 65), "nesting deeper than 64"},
      {repeated("{\"a\":", 65) + "1" + repeated("}", 65), "nesting deeper than 64"},
      {repeated("[", 100'000), "nesting deeper than 64"},
      {repeated("[", 1'000'000) + repeated("]", 1'000'000), "nesting deeper than 64"},
      {repeated("{\"a\":", 1'000'000), "nesting deeper than 64"},
      {repeated("[{\"a\":", 500'000), "nesting deeper than 64"},
      {R"({"a": 1, "a": 1})", "occurs twice"},
      {R"({"a": 1, "\u0061": 1})", "occurs twice"},
      {R"({"": 1, "": 2})", "occurs twice"},
      {R"({"x": {"b": {}, "b": {}}})", "occurs twice"},
      {"{\"" + std::string(1025, 'k') + "\": 1}", "a key of over 1 KiB"},
      {"{" + many_keys(10'001) + "}", "an object of over 10,000 keys"},
      {R"({"class_name": "Dense", "config": {"units": 1, )" + many_keys(200'000) + "}}",
       "an object of over 10,000 keys"},
      {"\"" + std::string((1 << 20) + 1, 's') + "\"", "a string of over 1 MiB"},
      {"{\"name\": \"" + std::string(8 << 20, 's') + "\"}", "a string of over 1 MiB"},
      {"[" + repeated("1,", 2'000'000) + "1]", "over 2,000,000 values"},
      {"[" + repeated("[],", 2'000'000) + "1]", "over 2,000,000 values"},
      {std::string((64 << 20) + 1, ' '), "at most 64 MiB"},
      {"{\"units\": 9223372036854775808}", "2^63"},
      {"{\"units\": 18446744073709551615}", "2^63"},
      {"{\"units\": 18446744073709551616}", "64 bits"},
      {"{\"units\": -9223372036854775809}", "64 bits"},
      {"{\"units\": " + std::string(5000, '9') + "}", "a number that exceeds the range of double"},
      {"{\"units\": 1e" + std::string(5000, '9') + "}", "a number that exceeds the range of double"},
      {"{\"units\": " + std::string(100'000, 'x') + "}", "not valid JSON"},
      {"[\"" + std::string(100'000, 'x') + "\x01\"]", "not valid JSON"},
  };
  for (const Case& item : cases) {
    CAPTURE(item.text.substr(0, 60));
    check_refused(attempt({"summary", "-"}, item.text), "stdin:", item.message);
  }
}

TEST_CASE("json: values of key=value arguments have the limits of a file") {
  const auto refused = [](const std::string& value, std::string_view part) {
    check_refused(attempt({"get-config", "Dense", "units=" + value}), "Dense:1:", part);
  };
  refused(repeated("[", 60'000) + repeated("]", 60'000), "nesting deeper than 64");
  refused(repeated("{\"a\":", 20'000) + "1" + repeated("}", 20'000), "nesting deeper than 64");
  refused(R"({"a": 1, "a": 2})", "twice");
  refused("18446744073709551616", "64 bits");
  check_refused(attempt({"get-config", "Dense", "units=2", "units=3"}), "Dense:1:", "twice");
}

TEST_CASE("json: a million layers are rejected quickly") {
  std::string text = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [)";
  for (int i = 0; i < 1'000'000; ++i) text += R"({"class_name":"ReLU","config":{}},)";
  text.back() = ']';
  check_refused(attempt({"summary", "-"}, text + "}}"), "stdin:", "over 2,000,000 values");
}

TEST_CASE("json: models that call each other are rejected quickly") {
  const auto tensor = [](const std::string& layer, int call) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 2], "dtype": "float32", "keras_history": [")" +
           layer + "\", " + std::to_string(call) + ", 0]}}";
  };
  // Each model calls the one inside it ten times in sequence.
  const auto nested = [&](int depth, const std::string& name) {
    std::string inner = R"({"class_name": "ReLU", "name": "l", "config": {"name": "l"})";
    std::string calls, model;
    for (int call = 0; call < 10; ++call) {
      calls += fmt::format(R"({}{{"args": [{}], "kwargs": {{}}}})", call == 0 ? "" : ", ",
                           call == 0 ? tensor("in", 0) : tensor("l", call - 1));
    }
    for (int level = 0; level < depth; ++level) {
      model = fmt::format(R"({{"name": "{0}", "layers": [{{"class_name": "InputLayer", "name": "in",
        "config": {{"name": "in", "batch_shape": [null, 2]}}, "inbound_nodes": []}}, {1}, "inbound_nodes": [{2}]}}],
        "input_layers": [["in", 0, 0]], "output_layers": [["l", {3}, 0]]}})",
                          name, inner, calls, level == 0 ? 9 : 10);
      inner = R"({"class_name": "Functional", "name": "l", "config": )" + model;
    }
    return R"({"class_name": "Functional", "config": )" + model + "}";
  };
  CHECK(attempt({"plan", "-"}, nested(4, "m")).code == 0);
  for (const int depth : {5, 12}) {
    CAPTURE(depth);
    // The results of a call are known from the called model.
    for (const char* command : {"summary", "get-config"}) {
      const Attempt done = attempt({command, "-"}, nested(depth, "m"));
      CHECK(done.code == 0);
      check_costs(done, kMostSeconds);
    }
    for (const char* command : {"plan", "run", "validate"}) {
      const Attempt done = attempt({command, "-"}, nested(depth, "m"));
      CHECK(done.code == 3);
      CHECK(contains(done.out + done.err, "more than 20000 calls of layers that were called before are not accepted"));
      check_costs(done, kMostSeconds);
    }
  }
}

TEST_CASE("json: deeply nested large models are built once") {
  const std::string input = R"({"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 8]}})";
  std::string layers = input;
  for (int i = 0; i < 10'000; ++i)
    layers += fmt::format(R"(, {{"class_name": "Dense", "config": {{"name": "d{}", "units": 8}}}})", i);
  const auto model = [](int level, const std::string& inside) {
    return fmt::format(R"({{"class_name": "Sequential", "config": {{"name": "m{}", "layers": [{}]}}}})", level, inside);
  };
  std::string text = model(0, layers);
  for (int level = 1; level < 18; ++level) text = model(level, input + ", " + text);
  const Attempt done = attempt({"summary", "-"}, text);
  CHECK(done.code == 0);
  CHECK(contains(done.out, "Total params: 720,000"));
  check_costs(done, kMostSeconds);
}

TEST_CASE("json: names that grow with the nesting are rejected before they fill the memory") {
  const std::string input = R"({"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 2]}}, )";
  for (const bool called : {true, false}) {
    CAPTURE(called);
    std::string text;
    for (int i = 0; i < 500; ++i)
      text +=
          fmt::format(R"({}{{"class_name": "Dense", "config": {{"name": "l{}", "units": 2}}}})", i > 0 ? ", " : "", i);
    for (int level = 0; level < 6; ++level) {
      text = fmt::format(R"({{"class_name": "Sequential", "config": {{"name": "{}", "layers": [{}{}]}}}})",
                         std::string(60'000, static_cast<char>('a' + level)), called || level == 0 ? input : "", text);
    }
    for (const char* command : {"summary", "plan", "get-config"}) {
      const Attempt done = attempt({command, "-"}, text);
      check_refused(done, "stdin:", "more than 16 MiB of layers' names");
      check_costs(done, kMostSeconds, 128 << 20);
    }
  }
}

TEST_CASE("json: validate reports a thousand problems with their places, and that there may be more") {
  struct Case {
    const char* layer;
    const char* message;
  };
  const std::vector<Case> cases = {
      {R"({"class_name": "Dense", "config": {"name": "d"}})", "the key 'units' is missing"},
      {R"({"class_name": "Dens", "config": {"units": 2}})", "(did you mean 'Dense'?)"},
      {R"({"class_name": "Dense", "config": {"units": 2, "unit": 3}})", "unknown key (did you mean 'units'?)"},
      {R"({"class_name": "Dense", "config": {"units": 2, "activation": "rel"}})", "unknown activation"},
      {R"({"class_name": "Dense", "registered_name": "My>Dense", "config": {"units": 2}})", "My>Dense"},
      {"null", "expected an object, got null"},
  };
  constexpr int kLayers = kIsInstrumented ? 3'000 : 30'000, kFirstLine = 3;
  for (const Case& item : cases) {
    CAPTURE(item.layer);
    std::string text = "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\",\n\"layers\": [\n";
    for (int i = 0; i < kLayers; ++i) text += std::string(item.layer) + ",\n";
    text.resize(text.size() - 2);
    const Attempt done = attempt({"validate", "-"}, text + "\n]}}\n");
    CHECK(done.code == 3);
    check_costs(done, kMostSeconds);
    CHECK(contains(done.out, "\nstdin: warning: there may be more: reading stops after 1,000 problems\n"));
    CHECK(contains(done.out, "\nstdin: 1000 errors, 1 warning\n"));
    int number = 0;
    for (const std::string& line : split(done.out, '\n')) {
      if (number == 1000) break;
      CHECK(line.starts_with(fmt::format("stdin:{}:", kFirstLine + number)));
      CHECK(contains(line, fmt::format(": error: /config/layers/{}", number)));
      CHECK(contains(line, item.message));
      ++number;
    }
  }
}

TEST_CASE("json: a shape has at most 64 dimensions") {
  const auto model = [](const std::string& shape, const std::string& layer) {
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [)" +
           shape + R"(]}}, )" + layer + "]}}";
  };
  const std::string layer = R"({"class_name": "LayerNormalization", "config": {"name": "n"}})";
  CHECK(summarise(model("null" + repeated(", 1", 63), layer)).code == 0);
  check_refused(summarise(model("null" + repeated(", 1", 64), layer)), "stdin:2:", "more than 64 dimensions");
  check_refused(attempt({"plan", "-"}, model("null, 1", R"({"class_name": "Reshape", "config": {"name": "r",
      "target_shape": [1)" + repeated(", 1", 500'000) + "]}}")),
                "stdin:3:", "more than 64 dimensions");
}

TEST_CASE("json: a dimension must be a positive integer") {
  const std::vector<std::string> numbers = {
      "0",
      "-1",
      "-2147483648",
      "-9223372036854775808",
      "4611686018427387905",
      "9223372036854775807",
      "1.0",
      "1.5",
      "1e3",
      "0.0",
      "-0.0",
      "1e308",
      "true",
      "false",
      "null",
      "\"8\"",
      "\"\"",
      "[]",
      "[8]",
      "{}",
      "{\"a\": 1}",
  };
  for (const std::string& number : numbers) {
    CAPTURE(number);
    check_refused(summarise(model_of("Dense", R"({"name": "d", "units": )" + number + "}")),
                  "stdin:3:", "/config/layers/1/config/units");
    check_refused(
        summarise(model_of("MultiHeadAttention", R"({"name": "a", "num_heads": 2, "key_dim": )" + number + "}")),
        "stdin:3:", "/config/layers/1/config/key_dim");
  }
}

TEST_CASE("json: a model's graph may not refer to itself, to nothing, or before its beginning") {
  const auto functional = [](const std::string& nodes, const std::string& in, const std::string& out) {
    return R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}, "name": "i", "inbound_nodes": []},
    {"class_name": "Add", "config": {"name": "d"}, "name": "d", "inbound_nodes": )" +
           nodes + R"(}, {"class_name": "ReLU", "config": {"name": "e"}, "name": "e", "inbound_nodes": [{"args": [)" +
           R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4], "dtype": "float32", "keras_history":)" +
           R"( ["d", 0, 0]}}], "kwargs": {}}]}], "input_layers": )" + in + R"(, "output_layers": )" + out + "}}";
  };
  const auto tensor = [](const std::string& history) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4], "dtype": "float32", "keras_history": )" +
           history + "}}";
  };
  const auto call = [&](const std::string& history) {
    return R"([{"args": [[)" + tensor(history) + ", " + tensor(R"(["i", 0, 0])") + R"(]], "kwargs": {}}])";
  };
  const std::string in = R"([["i", 0, 0]])", out = R"([["e", 0, 0]])", good = call(R"(["i", 0, 0])");
  CHECK(summarise(functional(good, in, out)).code == 0);
  const std::vector<std::string> histories = {
      R"(["d", 0, 0])",
      R"(["e", 0, 0])",
      R"(["x", 0, 0])",
      R"(["", 0, 0])",
      R"(["i", 1, 0])",
      R"(["i", 0, 1])",
      R"(["i", -1, 0])",
      R"(["i", 0, -1])",
      R"(["i", 2147483648, 0])",
      R"(["i", 0, 9223372036854775807])",
      R"(["i", 0])",
      R"(["i"])",
      "[]",
      "null",
      "1",
      R"("i")",
      R"({"i": 0})",
      R"([1, 0, 0])",
      R"([null, 0, 0])",
      R"(["i", "0", 0])",
      R"(["i", 0.0, 0])",
      R"(["i", true, 0])",
      R"(["i", 0, null])",
      R"([["i"], 0, 0])",
  };
  for (const std::string& history : histories) {
    CAPTURE(history);
    check_refused(summarise(functional(call(history), in, out)), "stdin");
    CHECK(summarise(functional(good, in, "[" + history + "]")).code != 70);
    CHECK(summarise(functional(good, "[" + history + "]", out)).code != 70);
  }
  for (const std::string nodes :
       {"1", "null", "{}", "[1]", "[null]", "[{}]", R"([{"args": 1}])", R"([{"args": [1], "kwargs": []}])",
        R"([[["i", 0, 0, {}]]])", R"([[[["i", 0, 0, {}]]]])", "[[[[[[[[]]]]]]]]", R"([{"args": [], "kwargs": {}}])"}) {
    CAPTURE(nodes);
    check_refused(summarise(functional(nodes, in, out)), "stdin");
  }
}

}  // namespace attn::test
