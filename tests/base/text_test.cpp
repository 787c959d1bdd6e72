#include "attn/base/text.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <utility>

#include "attn/base/parse_number.h"

using namespace attn;
using namespace std::string_literals;

namespace {

template <typename From>
using Table = std::vector<std::pair<From, std::string>>;

}  // namespace

TEST_CASE("printable: ordinary text is kept, and text that could fool a terminal is escaped") {
  const Table<std::string> cases{
      {"dense_1", "dense_1"},
      {"größe 世界 🙂 e\u0301", "größe 世界 🙂 e\u0301"},
      {"C:\\x", "C:\\x"},
      {"a\x1b[31mb", "a\\u{1b}[31mb"},
      {"a\nb\tc\x7f", "a\\u{a}b\\u{9}c\\u{7f}"},
      {"\0"s, "\\u{0}"},
      {"\u0085", "\\u{85}"},
      {"x\u202ey", "x\\u{202e}y"},
      {"\u200b\ufeff\u2066", "\\u{200b}\\u{feff}\\u{2066}"},
      {"\u2028", "\\u{2028}"},
      {"\U000e0041", "\\u{e0041}"},
      {"a\xff\xc3", "a\\xff\\xc3"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xc0\xaf", "\\xc0\\xaf"},
  };
  for (const auto& [text, expected] : cases) CHECK(printable(text) == expected);
}

TEST_CASE("is_utf8: surrogates, overlong forms, stray and missing bytes are rejected") {
  for (const std::string_view text : {"", "a", "é", "\uffff", "\U0010ffff", "\xed\x9f\xbf"}) {
    CAPTURE(printable(text));
    CHECK(is_utf8(text));
  }
  for (const std::string_view text : {"\x80", "\xc3", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe4\xb8"}) {
    CAPTURE(printable(text));
    CHECK_FALSE(is_utf8(text));
  }
}

TEST_CASE("display_width: the width counts terminal cells as rich does") {
  const std::vector<std::pair<std::string_view, int>> cases{
      {"", 0},     {"dense", 5}, {"größe", 5},      {"世界", 4},     {"e\u0301", 1},
      {"🙂", 2}, {"─┃", 2},    {"\u200b\x1b", 0}, {"\xff\xfe", 2}, {"👩\u200d🚀", 2},
  };
  for (const auto& row : cases) {
    const auto& text = row.first;
    const auto& width = row.second;
    CAPTURE(text);
    CHECK(display_width(text) == width);
  }
}

TEST_CASE("did_you_mean: the nearest candidate is suggested, if one is near") {
  const std::vector<std::string> keys{"num_heads", "key_dim", "value_dim", "dropout", "use_bias", "name"};
  const Table<std::string> cases{
      {"num_head", "num_heads"},
      {"nmu_heads", "num_heads"},
      {"KEY_DIM", "key_dim"},
      {"valuedim", "value_dim"},
      {"drop", ""},
      {"x", ""},
      {"", ""},
      {"gamma", ""},
  };
  for (const auto& row : cases) {
    const auto& word = row.first;
    const auto& expected = row.second;
    CAPTURE(word);
    CHECK(did_you_mean(word, keys) == (expected.empty() ? "" : " (did you mean '" + expected + "'?)"));
  }
  using Names = std::vector<std::string>;
  const std::array<std::string_view, 5> tie{"relu6", "relu7", "relu8", "relu9", "relu6"};
  CHECK(nearest("relu", tie) == Names{"relu6", "relu7", "relu8"});
  CHECK(nearest("rleu7", tie) == Names{"relu7"});
  CHECK(did_you_mean("relu", tie) == " (did you mean 'relu6', 'relu7' or 'relu8'?)");
  // Among equally near names the one with the same beginning and end wins; a swapped pair may also lose a letter.
  CHECK(did_you_mean("adds", Names{"pads", "add"}) == " (did you mean 'add'?)");
  CHECK(did_you_mean("ucsal", Names{"causal", "format"}) == " (did you mean 'causal'?)");
  CHECK(nearest("relu", {}).empty());
  CHECK(did_you_mean("evi", std::vector<std::string>{"evi\x1b"}) == " (did you mean 'evi\\u{1b}'?)");
  CHECK(nearest(std::string(1 << 20, 'a'), tie).empty());
}

TEST_CASE("python_repr: a double prints as in Python") {
  const Table<double> cases{
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {0.1, "0.1"},
      {1e-6, "1e-06"},
      {0.0001, "0.0001"},
      {0.00012345, "0.00012345"},
      {0.00001, "1e-05"},
      {-1.5e-7, "-1.5e-07"},
      {123456.789, "123456.789"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1e23, "1e+23"},
      {1.2345e100, "1.2345e+100"},
      {1.0 / 3.0, "0.3333333333333333"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
      {std::numeric_limits<double>::quiet_NaN(), "nan"},
  };
  for (const auto& [value, expected] : cases) CHECK(python_repr(value) == expected);
}

TEST_CASE("python_repr: a str prints as in Python") {
  const Table<std::string> cases{
      {"x", "'x'"},
      {"", "''"},
      {"it's", "\"it's\""},
      {"say \"it's\"", "'say \"it\\'s\"'"},
      {"a\\b\n\r\t\x01", "'a\\\\b\\n\\r\\t\\x01'"},
      {"é世🙂", "'é世🙂'"},
      {"\u00a0\u2028\U000e0001\x7f", "'\\xa0\\u2028\\U000e0001\\x7f'"},
      {"\U000e0820\u3164\U000e0100", "'\\U000e0820\\u3164\\U000e0100'"},
      {"\xff", "'\\udcff'"},
  };
  for (const auto& [text, expected] : cases) CHECK(python_repr(std::string_view(text)) == expected);
}

TEST_CASE("with_commas: digits are grouped, up to 128 bits") {
  CHECK(with_commas(std::int64_t{0}) == "0");
  CHECK(with_commas(std::int64_t{999}) == "999");
  CHECK(with_commas(std::int64_t{1234567}) == "1,234,567");
  CHECK(with_commas(std::int64_t{-1000}) == "-1,000");
  CHECK(with_commas(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
  CHECK(with_commas(~UInt128{0}) == "340,282,366,920,938,463,463,374,607,431,768,211,455");
}

TEST_CASE("memory_size: sizes have units of 1024 and two decimals, as in Keras's summary") {
  const Table<UInt128> cases{
      {0, "0.00 B"},
      {1023, "1023.00 B"},
      {1024, "1.00 KB"},
      {4938, "4.82 KB"},
      {1048575, "1024.00 KB"},
      {UInt128{1} << 50, "1.00 PB"},
      {UInt128{1} << 60, "1.00 PB"},  // Keras's mistake: it divides once more, but has no larger unit
  };
  for (const auto& [bytes, expected] : cases) CHECK(memory_size(bytes) == expected);
}

TEST_CASE("snake_case: names equal Keras's automatic layer names") {
  const Table<std::string> cases{
      {"MultiHeadAttention", "multi_head_attention"},
      {"Conv2DTranspose", "conv2d_transpose"},
      {"GlobalAveragePooling1D", "global_average_pooling1d"},
      {"ReLU", "re_lu"},
      {"PReLU", "p_re_lu"},
      {"GRUCell", "gru_cell"},
      {"LSTM", "lstm"},
      {"My-Layer", "my_layer"},
      {"_Foo", "__foo"},
      {"", ""},
  };
  for (const auto& [name, expected] : cases) CHECK(snake_case(name) == expected);
}

TEST_CASE("split, join: joining undoes splitting") {
  CHECK(split("a/b//", '/') == std::vector<std::string>{"a", "b", "", ""});
  CHECK(split("", '/') == std::vector<std::string>{""});
  CHECK(join(split("a/b//", '/'), "/") == "a/b//");
  CHECK(join(std::vector<std::string>{}, ", ").empty());
}

TEST_CASE("parse_number: the whole text has to be a number in range") {
  CHECK(parse_number<int>("-12") == -12);
  CHECK(parse_number<double>("1.5e3") == 1500.0);
  for (const char* text : {"", "12 ", " 12", "+12", "0x10", "12a", "2147483648"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number<int>(text).has_value());
  }
}
