#include "attn/base/tensor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/rows.h"
#include "attn/base/size.h"

using namespace attn;

namespace {

ExitCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::done;
}

}  // namespace

TEST_CASE("allocate_bytes: memory is zeroed and aligned, small or large") {
  for (const std::int64_t bytes : {0, 1, 63, 64, 1000, 1 << 20}) {
    CAPTURE(bytes);
    const auto block = allocate_bytes(bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block.get()) % kAlignment == 0);
    for (std::int64_t i = 0; i < bytes; ++i) REQUIRE(block.get()[i] == std::byte{0});
    if (bytes > 0) std::memset(block.get(), 0xff, static_cast<std::size_t>(bytes));  // reveals reuse
  }
}

TEST_CASE("allocate_bytes: failed allocations are errors") {
  CHECK(code_of([] { (void)allocate_bytes(kMaxSize); }) == ExitCode::no_memory);
  CHECK(code_of([] { (void)allocate_bytes(std::int64_t{1} << 60); }) == ExitCode::no_memory);
  CHECK(code_of([] { (void)allocate_bytes(-1); }) == ExitCode::no_memory);
}

TEST_CASE("tensor: a tensor starts as zeros of its shape") {
  const Tensor tensor(DType::float32, {2, 3});
  CHECK(tensor.size() == 6);
  CHECK(tensor.bytes() == 24);
  for (std::int64_t i = 0; i < tensor.size(); ++i) CHECK(tensor.at(i) == 0.0);
  CHECK(Tensor().size() == 0);
  CHECK(Tensor(DType::int8, {0, 4}).as<std::int8_t>().empty());
  CHECK(Tensor(DType::int8, {}).size() == 1);
}

TEST_CASE("tensor: a shape with unknown or overflowing bytes is rejected") {
  CHECK(code_of([] { Tensor(DType::float64, {kMaxSize}); }) == ExitCode::no_memory);
  CHECK(code_of([] { Tensor(DType::float64, {kMaxSize, 4}); }) == ExitCode::no_memory);
  CHECK(code_of([] { Tensor(DType::float64, {kUnknown}); }) == ExitCode::internal);
  CHECK(code_of([] { Tensor(DType::float64, {1}, nullptr); }) == ExitCode::internal);
}

TEST_CASE("tensor: set rounds to the dtype, and at reads the value back") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    DType dtype;
    double value, stored;
  };
  const std::vector<Case> cases{
      {DType::float64, 0.1, 0.1},
      {DType::float32, 0.1, static_cast<double>(0.1F)},
      {DType::float32, 1e300, kInfinity},
      {DType::float16, 1.0 + 0x1p-11, 1.0},
      {DType::bfloat16, 1.0 + 0x1p-8 + 0x1p-40, 1.0 + 0x1p-7},
      {DType::int8, -1.9, -1},
      {DType::int8, 1000, 127},
      {DType::int8, -1000, -128},
      {DType::uint8, -3, 0},
      {DType::uint16, 65535.9, 65535},
      {DType::int16, -kInfinity, -32768},
      {DType::int32, 2147483647, 2147483647},
      {DType::uint32, 4294967295, 4294967295},
      {DType::int64, 1e300, 0x1p63},  // the largest number, read back rounded
      {DType::int64, -1e300, -0x1p63},
      {DType::uint64, kInfinity, 0x1p64},
      {DType::int32, std::nan(""), 0},
      {DType::boolean, 0.5, 1},
      {DType::boolean, -0.0, 0},
      {DType::boolean, std::nan(""), 1},
  };
  for (const Case& c : cases) {
    CAPTURE(name_of(c.dtype));
    CAPTURE(c.value);
    const Tensor tensor(c.dtype, {3});
    tensor.set(1, c.value);
    CHECK(tensor.at(1) == c.stored);
    CHECK(tensor.at(0) == 0.0);
    CHECK(tensor.at(2) == 0.0);
  }
  const Tensor floats(DType::float16, {1});
  floats.set(0, std::nan(""));
  CHECK(std::isnan(floats.at(0)));
}

TEST_CASE("tensor: copies and reshapes share the bytes, casts do not") {
  const Tensor tensor(DType::int32, {2, 3});
  const Tensor copy = tensor;
  const Tensor reshaped = tensor.reshaped({3, 2});
  const Tensor same = tensor.cast(DType::int32);
  tensor.set(5, 7);
  CHECK(copy.at(5) == 7);
  CHECK(reshaped.at(5) == 7);
  CHECK(reshaped.shape() == Shape{3, 2});
  CHECK(same.at(5) == 0);
  CHECK(code_of([&] { (void)tensor.reshaped({4}); }) == ExitCode::internal);
}

TEST_CASE("tensor: cast equals set, past the size of its block too") {
  const Tensor source(DType::float32, {1025});
  for (std::int64_t i = 0; i < source.size(); ++i) source.set(i, static_cast<double>(i) * 0.37 - 100.0);
  for (int d = 0; d <= static_cast<int>(DType::boolean); ++d) {
    const auto dtype = static_cast<DType>(d);
    CAPTURE(name_of(dtype));
    const Tensor cast = source.cast(dtype);
    const Tensor expected(dtype, source.shape());
    for (std::int64_t i = 0; i < source.size(); ++i) expected.set(i, source.at(i));
    CHECK(std::memcmp(cast.data(), expected.data(), static_cast<std::size_t>(cast.bytes())) == 0);
  }
  CHECK(Tensor(DType::float32, {0}).cast(DType::int8).size() == 0);
}

TEST_CASE("tensor: 64-bit integers convert to each other exactly, and saturate") {
  const Tensor source(DType::int64, {3});
  source.as<std::int64_t>()[0] = 9007199254740993;  // 2^53 + 1, which no double holds
  source.as<std::int64_t>()[1] = -5;
  source.as<std::int64_t>()[2] = std::numeric_limits<std::int64_t>::max();
  const Tensor cast = source.cast(DType::uint64);
  CHECK(cast.as<std::uint64_t>()[0] == 9007199254740993U);
  CHECK(cast.as<std::uint64_t>()[1] == 0);
  CHECK(cast.as<std::uint64_t>()[2] == 0x7fffffffffffffffU);
  cast.as<std::uint64_t>()[1] = std::numeric_limits<std::uint64_t>::max();
  CHECK(cast.cast(DType::int64).as<std::int64_t>()[1] == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("tensor: a tensor over foreign bytes keeps their owner alive") {
  auto owner = std::make_shared<std::vector<float>>(4, 2.5F);
  const std::weak_ptr<std::vector<float>> watch = owner;
  {
    const Tensor tensor(DType::float32, {4}, {owner, reinterpret_cast<std::byte*>(owner->data())});
    owner.reset();
    CHECK_FALSE(watch.expired());
    CHECK(tensor.at(3) == 2.5);
  }
  CHECK(watch.expired());
}

TEST_CASE("tensor: elements can be read only as their own type or as bits of their width") {
  for (const auto dtype :
       {DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::uint32, DType::boolean})
    CHECK_THROWS_AS((void)Tensor(dtype, {3}).as<float>(), Error);
  CHECK_THROWS_AS((void)Tensor(DType::float32, {3}).as<double>(), Error);
  CHECK_THROWS_AS((void)Tensor(DType::float32, {3}).as<std::int32_t>(), Error);
  CHECK_THROWS_AS((void)Tensor(DType::boolean, {3}).as<std::int8_t>(), Error);
  CHECK_THROWS_AS((void)Tensor(DType::uint8, {3}).as<bool>(), Error);
  CHECK_THROWS_AS((void)Tensor(DType::float32, {3}).as<std::uint16_t>(), Error);
  CHECK(Tensor(DType::float32, {3}).as<float>().size() == 3);
  CHECK(Tensor(DType::float32, {3}).as<std::uint32_t>().size() == 3);
  CHECK(Tensor(DType::bfloat16, {3}).as<std::uint16_t>().size() == 3);
  CHECK(Tensor(DType::boolean, {3}).as<bool>().size() == 3);
}

TEST_CASE("tensor: rows are a view of their array") {
  const Tensor array(DType::int32, {4, 3});
  for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, static_cast<double>(i));
  const Tensor middle = rows_view(array, 1, 2);
  CHECK(middle.shape() == Shape{2, 3});
  CHECK(middle.at(0) == 3);
  middle.set(5, 100);
  CHECK(array.at(8) == 100);
  CHECK(rows_view(array, 4, 0).size() == 0);
  CHECK(rows_view(Tensor(DType::float32, {0, 3}), 0, 0).shape() == Shape{0, 3});
}
