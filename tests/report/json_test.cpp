#include "attn/report/json.h"

#include <doctest/doctest.h>

#include <limits>

using attn::kUnknown;
using attn::Shape;
using namespace attn::report;

TEST_CASE("json: members keep their order, plain lists stay on one line, empty ones stay short") {
  Json document;
  document["z"] = 1;
  document["a"] = {1, 2};
  document["shapes"] = Json::array({json_shape(Shape{kUnknown, 3}), json_shape(Shape{})});
  document["none"] = Json::object();
  CHECK(json_document(document) ==
        "{\n"
        "  \"z\": 1,\n"
        "  \"a\": [1, 2],\n"
        "  \"shapes\": [\n"
        "    [null, 3],\n"
        "    []\n"
        "  ],\n"
        "  \"none\": {}\n"
        "}\n");
}

TEST_CASE("json: numbers are written in full, and NaN and infinity as null") {
  CHECK(json_document(0.1) == "0.1\n");
  CHECK(json_document(3.0) == "3.0\n");
  CHECK(json_document(1e300) == "1e+300\n");
  CHECK(json_document(-7) == "-7\n");
  CHECK(json_document(std::numeric_limits<double>::quiet_NaN()) == "null\n");
  CHECK(json_document(-std::numeric_limits<double>::infinity()) == "null\n");
  CHECK(json_document(json_integer(0)) == "0\n");
  CHECK(json_document(json_integer(~std::uint64_t{0})) == "18446744073709551615\n");
  CHECK(json_document(json_integer(~attn::UInt128{0})) == "340282366920938463463374607431768211455\n");
}

TEST_CASE("json: unsafe characters are escaped reversibly, and bytes that are not UTF-8 are spelled out") {
  const std::string unsafe = std::string("a\"\\\x1b\x7f\n\0", 7) + "\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81日";
  const std::string text = json_document(json_text(unsafe));
  CHECK(text == "\"a\\\"\\\\\\u001b\\u007f\\n\\u0000\\u009b\\u202e\\udb40\\udc01日\"\n");
  CHECK(Json::parse(text).get<std::string>() == unsafe);
  CHECK(json_document(json_text("\xff")) == "\"\\\\xff\"\n");
  CHECK(json_document({{"\xff", "\xfe"}}).find("\\\\xff") != std::string::npos);
}
