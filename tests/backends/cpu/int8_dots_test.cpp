// Int8 dot products: every instruction set gives the integers of plain loops.
#include "quantized/int8_dots.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "attn/base/rng.h"
#include "isa.h"
#include "quantized/integer_panels.h"

namespace attn::backends::cpu {
namespace {

struct Bytes {
  std::int64_t rows, quads, row_x;
  std::vector<std::uint8_t> x, panel;
  std::vector<std::int32_t> start = std::vector<std::int32_t>(kPanel);

  /// Numbers from `draw()`, which returns 0 … 255. A row of x is followed by unrelated bytes.
  template <typename Draw>
  Bytes(std::int64_t rows_of, std::int64_t quads_of, Draw draw)
      : rows(rows_of), quads(quads_of), row_x(quads * 4 + 12) {
    x.resize(static_cast<std::size_t>(rows * row_x));
    panel.resize(static_cast<std::size_t>(quads * 4 * kPanel));
    for (std::uint8_t& byte : x) byte = static_cast<std::uint8_t>(draw());
    for (std::uint8_t& byte : panel) byte = static_cast<std::uint8_t>(draw());
    for (std::size_t j = 0; j < start.size(); ++j) start[j] = static_cast<std::int32_t>(1000 * j) - 5;
  }

  [[nodiscard]] std::vector<std::int32_t> sums() const {
    std::vector<std::int32_t> out;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < kPanel; ++j) {
        std::int32_t sum = start[static_cast<std::size_t>(j)];
        for (std::int64_t k = 0; k < quads * 4; ++k)
          sum += x[static_cast<std::size_t>(i * row_x + k)] *
                 static_cast<std::int8_t>(panel[static_cast<std::size_t>((k / 4 * kPanel + j) * 4 + k % 4)]);
        out.push_back(sum);
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<std::int32_t> by(const Int8Dots& dots) const {
    std::vector<std::int32_t> y(static_cast<std::size_t>(rows * kPanel + 1), 7);
    dots.run(x.data(), row_x, rows, panel.data(), quads, start.data(), y.data());
    CHECK(y.back() == 7);
    y.pop_back();
    return y;
  }
};

TEST_CASE("int8 dots: every instruction set of this CPU computes the integers of plain loops") {
  RandomStream stream(0, "bytes");
  const auto any = [&] { return static_cast<int>(stream.uniform() * 256.0); };
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 12, 13, 15, 16, 17, 31, 32, 33, 48, 63, 96}) {
    for (const std::int64_t quads : {0, 1, 2, 15, 16, 17, 31, 32, 50}) {
      const Bytes bytes(rows, quads, any);
      const std::vector<std::int32_t> expected = bytes.sums();
      for (const Int8Dots& dots : all_int8_dots())
        CHECK_MESSAGE(bytes.by(dots) == expected, fmt::format("{}: {} rows, {} quads", dots.name, rows, quads));
    }
  }
}

TEST_CASE("int8 dots: the largest products do not saturate") {
  for (const int x : {0, 127, 128, 255}) {
    for (const int w : {0, 127, 128, 129, 255}) {  // −128 is 128 here
      Bytes bytes(17, 33, [] { return 0; });
      std::fill(bytes.x.begin(), bytes.x.end(), static_cast<std::uint8_t>(x));
      std::fill(bytes.panel.begin(), bytes.panel.end(), static_cast<std::uint8_t>(w));
      for (const Int8Dots& dots : all_int8_dots()) CHECK_MESSAGE(bytes.by(dots) == bytes.sums(), dots.name);
    }
  }
}

TEST_CASE("int8 dots: the fastest within isa() is selected, and emulated tiles on request") {
  CHECK(int8_dots(Tiles::emulated).name == "integers on emulated tiles");
  const std::string_view best = int8_dots(Tiles::none).name;
  if (isa() == Isa::sse41) CHECK(best == "integers");
  if (isa() == Isa::avx2) CHECK(best == "integers by AVX2");
  if (isa() == Isa::avx2_vnni)
    CHECK(best == (has_avx_int8_dots() ? "integers by AVX-VNNI" : "integers by half of AVX512-VNNI"));
  if (isa() == Isa::avx512) CHECK(best == "integers by AVX-512");
  if (isa() >= Isa::avx512_vnni && isa() < Isa::amx) CHECK(best == "integers by AVX512-VNNI");
}

}  // namespace
}  // namespace attn::backends::cpu
