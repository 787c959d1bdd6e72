#include "attn/report/table.h"

#include <doctest/doctest.h>

using namespace attn::report;

TEST_CASE("table: columns are aligned by the cells of a terminal") {
  const Table table{{{"name"}, {"value", Align::right}}, {{"日本", "1"}, {"a", "1,234"}}};
  CHECK(plain_table(table) ==
        "name  value\n"
        "────  ─────\n"
        "日本      1\n"
        "a     1,234\n");
}

TEST_CASE("table: Markdown marks right alignment and escapes markup") {
  const Table table{{{"name"}, {"n", Align::right}}, {{"a|b_c *x* <i> _y_", "1"}}};
  CHECK(markdown_table(table) ==
        "| name                      |   n |\n"
        "| ------------------------- | --: |\n"
        "| a\\|b_c \\*x\\* &lt;i> \\_y\\_ |   1 |\n");
}

TEST_CASE("table: CSV quotes as in RFC 4180 and escapes formulas") {
  const Table table{{{"a"}, {"b"}}, {{"x,y", "q\"q"}, {"=A1", "+x"}, {"-1.5e3", "-x"}, {"@f", "line\nfeed"}}};
  CHECK(csv_table(table) ==
        "a,b\r\n"
        "\"x,y\",\"q\"\"q\"\r\n"
        "'=A1,'+x\r\n"
        "-1.5e3,'-x\r\n"
        "'@f,line\\u{a}feed\r\n");
}
