// Products of a few rows of bytes with an int8 table in its stored layout, without packing.
#include "quantized/int8_table_gemv.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <vector>

#include "attn/base/rng.h"
#include "gemm/panel.h"

namespace attn::backends::cpu {
namespace {

TEST_CASE("int8 table GEMV: the product of rows with stored columns is exact, and writes only its output") {
  if (!has_int8_table_gemv()) return;
  RandomStream stream(0, "table");
  for (const std::int64_t depth : {1, 3, 63, 64, 65, 127, 128, 200, 768}) {
    for (const std::int64_t count : {1, 3, 4, 5, 31, 32}) {
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8}) {
        const std::int64_t row_x = depth + 5;
        std::vector<std::uint8_t> x(static_cast<std::size_t>((rows - 1) * row_x + depth));
        std::vector<std::int8_t> table(static_cast<std::size_t>(count * depth));
        for (std::uint8_t& byte : x) byte = static_cast<std::uint8_t>(stream.uniform() * 256.0);
        for (std::int8_t& byte : table)
          byte = static_cast<std::int8_t>(static_cast<int>(stream.uniform() * 256.0) - 128);
        std::vector<std::int32_t> start;
        for (std::int64_t j = 0; j < count; ++j) start.push_back(static_cast<std::int32_t>(1000 * j) - 7);
        std::vector<std::int32_t> y(static_cast<std::size_t>(rows * kPanel), 5), expected = y;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < count; ++j) {
            std::int32_t sum = start[static_cast<std::size_t>(j)];
            for (std::int64_t k = 0; k < depth; ++k)
              sum += x[static_cast<std::size_t>(i * row_x + k)] * table[static_cast<std::size_t>(j * depth + k)];
            expected[static_cast<std::size_t>(i * kPanel + j)] = sum;
          }
        }
        multiply_table(x.data(), row_x, rows, table.data(), depth, count, start.data(), y.data());
        CHECK_MESSAGE(y == expected, fmt::format("{} rows of {}, {} columns", rows, depth, count));
      }
    }
  }
}

}  // namespace
}  // namespace attn::backends::cpu
