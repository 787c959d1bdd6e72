#include "classes/ops/promotion.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "attn/base/text.h"

using namespace attn;
using namespace attn::keras;

namespace {

// In the order of DType, then a Python int and a Python float.
const std::vector<Promoted> kTypes = {DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::int64,
                                      DType::int32,   DType::int16,   DType::int8,    DType::uint64,   DType::uint32,
                                      DType::uint16,  DType::uint8,   DType::boolean, kPythonInt,      kPythonFloat};
const std::vector<std::string> kShort = {"f8", "f4", "f2", "bf", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"};

// keras.backend.result_type(row, column) of Keras 3.15.1 with TensorFlow.
constexpr std::array<std::string_view, 15> kTable = {
    "f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8",  // float64
    "f8 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4",  // float32
    "f8 f4 f2 f4 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f2",  // float16
    "f8 f4 f4 bf bf bf bf bf bf bf bf bf bf bf bf",  // bfloat16
    "f8 f4 f2 bf i8 i8 i8 i8 f4 i8 i8 i8 i8 i8 f4",  // int64
    "f8 f4 f2 bf i8 i4 i4 i4 f4 i8 i4 i4 i4 i4 f4",  // int32
    "f8 f4 f2 bf i8 i4 i2 i2 f4 i8 i4 i2 i2 i2 f4",  // int16
    "f8 f4 f2 bf i8 i4 i2 i1 f4 i8 i4 i2 i1 i1 f4",  // int8
    "f8 f4 f2 bf f4 f4 f4 f4 u4 u4 u4 u4 u4 u4 f4",  // uint64
    "f8 f4 f2 bf i8 i8 i8 i8 u4 u4 u4 u4 u4 u4 f4",  // uint32
    "f8 f4 f2 bf i8 i4 i4 i4 u4 u4 u2 u2 u2 u2 f4",  // uint16
    "f8 f4 f2 bf i8 i4 i2 i2 u4 u4 u2 u1 u1 u1 f4",  // uint8
    "f8 f4 f2 bf i8 i4 i2 i1 u4 u4 u2 u1 b1 i4 f4",  // bool
    "f8 f4 f2 bf i8 i4 i2 i1 u4 u4 u2 u1 i4 i4 f4",  // int
    "f8 f4 f2 bf f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4",  // float
};

}  // namespace

TEST_CASE("promotion: every pair of dtypes is promoted as in Keras") {
  for (std::size_t row = 0; row < kTable.size(); ++row) {
    const std::vector<std::string> expected = split(kTable[row], ' ');
    for (std::size_t column = 0; column < kTable.size(); ++column) {
      CAPTURE(row);
      CAPTURE(column);
      const DType met = result_type({kTypes[row], kTypes[column]});
      CHECK(kShort[static_cast<std::size_t>(met)] == expected[column]);
    }
  }
}

TEST_CASE("promotion: the common dtype of three does not depend on their order") {
  CHECK(result_type({DType::int8, DType::uint8, kPythonInt}) == DType::int16);
  CHECK(result_type({kPythonInt, DType::uint8, DType::int8}) == DType::int16);
  CHECK(result_type({DType::float16, DType::bfloat16, kPythonFloat}) == DType::float32);
  CHECK(result_type({DType::boolean, kPythonInt, kPythonFloat}) == DType::float32);
}

TEST_CASE("promotion: sums of small integers are in 32 bits") {
  CHECK(as_accumulator(DType::boolean) == DType::int32);
  CHECK(as_accumulator(DType::uint16) == DType::uint32);
  CHECK(as_accumulator(DType::int64) == DType::int64);
  CHECK(as_accumulator(DType::float16) == DType::float16);
}
