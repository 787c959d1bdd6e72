// Tables of numbers: names, rows, and what is refused.
#include "attn/io/number_table.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../text.h"
#include "attn/base/error.h"

namespace attn::io {
namespace {

std::string refusal_of(std::string_view text) {
  try {
    static_cast<void>(read_number_table(text, "t.csv"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("number table: the first line has names if one of its cells is not a number") {
  const NumberTable named = read_number_table("a,\"b c\", y \n1,-2.5e1,+3\n.5,0,1\n", "t.csv");
  CHECK(named.columns == std::vector<std::string>{"a", "b c", "y"});
  CHECK(named.rows == 2);
  CHECK(named.width == 3);
  CHECK(named.numbers == std::vector<double>{1, -25, 3, 0.5, 0, 1});

  const NumberTable plain = read_number_table("1,2\n3,4", "t.csv");
  CHECK(plain.columns.empty());
  CHECK(plain.numbers == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("number table: a byte order mark, carriage returns, spaces and trailing empty lines are ignored") {
  const NumberTable table = read_number_table("\xEF\xBB\xBFx,y\r\n 1 ,\t2\r\n\r\n  \n", "t.csv");
  CHECK(table.columns == std::vector<std::string>{"x", "y"});
  CHECK(table.numbers == std::vector<double>{1, 2});
}

TEST_CASE("number table: a cell that is not a finite number is reported with line and column") {
  CHECK(refusal_of("a,b\n1,2\n3,x\n") == "t.csv: line 3, column 'b': 'x' is not a finite number");
  CHECK(refusal_of("1,2\n3,\n") == "t.csv: line 2, column 2: '' is not a finite number");
  CHECK(refusal_of("a,b\n1,nan\n") == "t.csv: line 2, column 'b': 'nan' is not a finite number");
  CHECK(refusal_of("a,b\n1,1e999\n") == "t.csv: line 2, column 'b': '1e999' is not a finite number");
  CHECK(refusal_of("a,b\n1,2,3\n") == "t.csv: line 2 has 3 cells, and the first one 2");
  CHECK(refusal_of("a,b\n\n1,2\n") == "t.csv: line 2 has 1 cells, and the first one 2");
  CHECK(refusal_of("a,b,a\n1,2,3\n") == "t.csv: two columns have the name 'a'");
  for (const std::string_view empty : {"", "\n\n", "a,b\n", "\xEF\xBB\xBF"})
    CHECK(refusal_of(empty) == "t.csv: no line is a row of numbers");
}

}  // namespace attn::io
