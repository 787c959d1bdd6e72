#include "attn/report/number.h"

#include <doctest/doctest.h>

#include <limits>

using namespace attn::report;

TEST_CASE("number: numbers have six significant digits, and NaN one spelling") {
  CHECK(number(0.1) == "0.1");
  CHECK(number(1.0 / 3) == "0.333333");
  CHECK(number(-12345678.0) == "-1.23457e+07");
  CHECK(number(0) == "0");
  CHECK(number(-std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(number(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("number: measured values have three digits and commas, also where rounding adds one") {
  CHECK(measured(0) == "0");
  CHECK(measured(0.012345) == "0.0123");
  CHECK(measured(1.2345) == "1.23");
  CHECK(measured(9.996) == "10.0");
  CHECK(measured(99.96) == "100");
  CHECK(measured(1234.5) == "1,235");
  CHECK(measured(1234567) == "1,234,567");
  CHECK(measured(1e-9) == "1e-09");
  CHECK(measured(1e20) == "1e+20");
}

TEST_CASE("number: a duration has the unit that keeps it short") {
  CHECK(duration(0) == "0 s");
  CHECK(duration(812e-9) == "812 ns");
  CHECK(duration(12.34e-6) == "12.3 µs");
  CHECK(duration(999.6e-6) == "1.00 ms");
  CHECK(duration(4.56e-3) == "4.56 ms");
  CHECK(duration(1.5) == "1.50 s");
  CHECK(duration(59.999) == "60.0 s");
  CHECK(duration(125.4) == "2 min 05 s");
}

TEST_CASE("number: rates have prefixes of 1000, bytes units of 1024") {
  CHECK(prefixed(1.234e9, "FLOP/s") == "1.23 GFLOP/s");
  CHECK(prefixed(999.7, "B") == "1.00 kB");
  CHECK(prefixed(12, "runs/s") == "12.0 runs/s");
  CHECK(byte_size(4202496) == "4.01 MB");
  CHECK(byte_size(-1) == "-");
  CHECK(percent(0.1234) == "12.3%");
}
