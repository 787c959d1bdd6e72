// Products on emulated tiles: the results that AMX would give, and their accuracy.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

#include "attn/backends/reference.h"
#include "attn/base/rng.h"
#include "gemm/amx_pack.h"
#include "gemm/amx_product.h"
#include "gemm/product.h"

namespace attn::backends::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Bfloat16 bits_of(float x) { return static_cast<Bfloat16>(std::bit_cast<std::uint32_t>(x) >> 16); }
double widened(Bfloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

/// Returns a row of `count` parts of x in float32.
std::vector<float> parts_of(float x, int count) {
  std::vector<Bfloat16> block(static_cast<std::size_t>(tile_block_size(1, count)));
  pack_tile_rows(DType::float32, &x, 1, 0, 1, 1, count, block.data());
  std::vector<float> parts;
  for (int part = 0; part < count; ++part)
    parts.push_back(static_cast<float>(widened(block[static_cast<std::size_t>(part * kTilePart)])));
  return parts;
}

TEST_CASE("tiles: a tile product adds 32 products to each sum, in the order of TDPBF16PS") {
  std::vector<Bfloat16> left(kTileNumbers), right(kTileNumbers);
  std::vector<float> sums(256);
  for (int m = 0; m < 16; ++m)
    for (int k = 0; k < 32; ++k) left[static_cast<std::size_t>(m * 32 + k)] = bits_of(static_cast<float>(m - k));
  for (int k = 0; k < 32; ++k)
    for (int n = 0; n < 16; ++n)
      right[static_cast<std::size_t>(k / 2 * 32 + n * 2 + k % 2)] = bits_of(static_cast<float>(k + 3 * n));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(i);
  multiply_tiles(sums.data(), left.data(), right.data());
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 16; ++n) {
      int expected = m * 16 + n;
      for (int k = 0; k < 32; ++k) expected += (m - k) * (k + 3 * n);
      CHECK(sums[static_cast<std::size_t>(m * 16 + n)] == static_cast<float>(expected));
    }
  }
}

/// One sum of products of pairs, after `before`.
float sum_of_products(float before, const std::vector<std::pair<float, float>>& pairs) {
  std::vector<Bfloat16> left(kTileNumbers), right(kTileNumbers);
  std::vector<float> sums(256);
  sums[0] = before;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    left[k] = bits_of(pairs[k].first);
    right[k / 2 * 32 + k % 2] = bits_of(pairs[k].second);
  }
  multiply_tiles(sums.data(), left.data(), right.data());
  return sums[0];
}

TEST_CASE("tiles: even and odd products are summed separately from 0, then added to the accumulator") {
  const float small = 0x1p-24F;
  CHECK(sum_of_products(1.0F, {{small, 1}, {0, 0}, {small, 1}, {0, 0}}) == 1.0F + 2 * small);
  CHECK(sum_of_products(0.0F, {{1, 1}, {0, 0}, {small, 1}, {0, 0}, {small, 1}}) == 1.0F);      // one after the other
  CHECK(sum_of_products(0.0F, {{1, 1}, {small, 1}, {0, 0}, {small, 1}}) == 1.0F + 2 * small);  // odd ones together
  // Products are not rounded before they are added.
  const float x = 1.0F + 0x1p-7F;
  CHECK(sum_of_products(0.0F, {{-1, 1}, {0, 0}, {x, x}}) == x * x - 1.0F);
}

#if defined(__x86_64__)
/// Two consecutive products of tiles with numbers of many magnitudes.
template <typename Tiles>
std::vector<float> two_products(const std::vector<Bfloat16>& left, const std::vector<Bfloat16>& right) {
  std::vector<float> sums(256);
  Tiles tiles;
  tiles.template zero<0>();
  for (int i = 0; i < 2; ++i) {
    tiles.template load<4>(left.data() + i * kTileNumbers);
    tiles.template load<6>(right.data() + i * kTileNumbers);
    tiles.template multiply<0, 4, 6>();
  }
  tiles.template store<0>(sums.data(), 16);
  return sums;
}

TEST_CASE("tiles: AMX gives the bits of emulated tiles, if this CPU has it") {
  if (isa() < Isa::amx) return;
  RandomStream stream(0, "bits");
  for (int round = 0; round < 200; ++round) {
    std::vector<Bfloat16> left(2 * kTileNumbers), right(2 * kTileNumbers);
    // From one octave up to products that are denormal or overflow.
    const double octaves = round % 10 * 15.0;
    const auto draw = [&] {
      return bits_of(static_cast<float>(stream.normal() * std::exp2(octaves * (2.0 * stream.uniform() - 1.0))));
    };
    std::ranges::generate(left, draw);
    std::ranges::generate(right, draw);
    const std::vector<float> amx = two_products<AmxTiles>(left, right);
    const std::vector<float> emulated = two_products<EmulatedTiles>(left, right);
    for (std::size_t i = 0; i < amx.size(); ++i) {
      const bool both_nan = std::isnan(amx[i]) && std::isnan(emulated[i]);
      const bool same = both_nan || std::bit_cast<std::uint32_t>(amx[i]) == std::bit_cast<std::uint32_t>(emulated[i]);
      CHECK_MESSAGE(same, fmt::format("{} octaves: {} and {}", octaves, amx[i], emulated[i]));
    }
  }
}
#endif

TEST_CASE("tiles: denormals are flushed to zero, and infinity and NaN spread") {
  const float least = 0x1p-126F;
  CHECK(sum_of_products(0.0F, {{0x1p-127F, 0x1p100F}}) == 0.0F);
  CHECK(sum_of_products(0x1p-130F, {}) == 0.0F);
  CHECK(sum_of_products(0.0F, {{least, 0.5F}}) == 0.0F);
  CHECK(sum_of_products(0.0F, {{least, 1.0F}}) == least);
  CHECK(sum_of_products(2 * least, {{-least, 1.5F}}) == 0.0F);
  CHECK(sum_of_products(0.0F, {{kInf, 2.0F}}) == kInf);
  CHECK(std::isnan(sum_of_products(0.0F, {{kInf, 0.0F}})));
  CHECK(std::isnan(sum_of_products(0.0F, {{kInf, 0x1p-127F}})));  // the denormal counts as zero
  CHECK(std::isnan(sum_of_products(0.0F, {{NAN, 1.0F}})));
  CHECK(sum_of_products(0.0F, {{0x1p127F, 2.0F}}) == kInf);
  // With a full mantissa, the first result is below the normal numbers, though 2⁻¹²⁶ is the next denormal.
  CHECK(sum_of_products(0.0F, {{least, 1.0F}, {}, {-0x1p-76F, 0x1.4p-75F}}) == 0.0F);
  CHECK(sum_of_products(0.0F, {{least, 1.0F}, {}, {-0x1p-76F, 0x1p-76F}}) == least);
}

TEST_CASE("tiles: the sum of three parts equals the number, except for the smallest numbers") {
  RandomStream stream(0, "parts");
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (int i = 0; i < 50; ++i) {
      const auto x = static_cast<float>(std::ldexp(1.0 + stream.uniform(), exponent) * (i % 2 == 0 ? 1 : -1));
      if (std::isinf(x)) continue;
      const std::vector<float> parts = parts_of(x, 3);
      // The least bfloat16 is 2⁻¹³³; from 2⁻¹¹⁰ on no bit is below it.
      const double sum = static_cast<double>(parts[0]) + parts[1] + parts[2];
      CHECK(std::abs(sum - x) <= (exponent >= -110 ? 0.0 : 0x1p-134));
      CHECK(std::abs(x - static_cast<double>(parts[0])) <= std::max(std::abs(x) * 0x1p-8, 0x1p-134));
      // Tiles flush denormal parts to zero. The loss is below the least normal number, and zero from 2⁻¹⁰³ on, where
      // the last of 24 bits is a normal number.
      double seen = 0.0;
      for (const float part : parts) seen += std::abs(part) < 0x1p-126F ? 0.0 : part;
      CHECK(std::abs(seen - x) < 0x1p-126);
      if (exponent >= -103) CHECK(seen == x);
    }
  }
}

TEST_CASE("tiles: parts of the largest numbers stay finite, and infinity and NaN are one part") {
  const float largest = std::numeric_limits<float>::max();
  for (const float x : {largest, -largest, std::nextafter(largest, 0.0F), 0x1.ffp127F}) {
    for (const int count : {1, 2, 3}) {
      const std::vector<float> parts = parts_of(x, count);
      for (const float part : parts) CHECK(std::isfinite(part));
      if (count == 3) CHECK(static_cast<double>(parts[0]) + parts[1] + parts[2] == x);
    }
  }
  CHECK(parts_of(-kInf, 3) == std::vector<float>{-kInf, 0.0F, 0.0F});
  const std::vector<float> nan = parts_of(std::bit_cast<float>(0x7F800001U), 3);  // all of it in the lower bits
  CHECK(std::isnan(nan[0]));
  CHECK(nan[1] == 0.0F);
  CHECK(parts_of(-0.0F, 1)[0] == 0.0F);
}

// ---- errors ----

using Draw = std::function<double(RandomStream&)>;

struct Distribution {
  std::string name;
  Draw x, w;
};

double normal(RandomStream& stream) { return stream.normal(); }
double spread(RandomStream& stream, double exponents) {
  return stream.normal() * std::exp2(exponents * (stream.uniform() - 0.5));
}

const std::vector<Distribution>& distributions() {
  const auto uniform = [](RandomStream& stream) { return 2.0 * stream.uniform() - 1.0; };
  const auto positive = [](RandomStream& stream) { return stream.uniform(); };
  const auto heavy = [](RandomStream& stream) { return stream.normal() / std::max(stream.uniform(), 1e-6); };
  const auto large = [](RandomStream& stream) { return 1e4 * stream.normal(); };
  const auto ratios = [](RandomStream& stream) { return spread(stream, 60.0); };
  const auto huge = [](RandomStream& stream) { return 1e36 * stream.normal(); };
  const auto small = [](RandomStream& stream) { return 1e-3 * stream.normal(); };
  const auto tiny = [](RandomStream& stream) { return 1e-25 * stream.normal(); };
  static const std::vector<Distribution> rows{{"normal", normal, normal},
                                              {"uniform in (-1, 1)", uniform, uniform},
                                              {"uniform in (0, 1)", positive, positive},
                                              {"heavy-tailed", heavy, normal},
                                              {"±1e4", large, large},
                                              {"x over 60 octaves", ratios, normal},
                                              {"x and w over 60 octaves", ratios, ratios},
                                              {"x about 1e36", huge, small},
                                              {"x about 1e-25", tiny, normal}};
  return rows;
}

struct Operands {
  Product::Size size;
  std::vector<float> x, w;
  std::vector<double> exact, scale;  ///< Σ x·w, Σ |x·w|
};

Operands draw(const Product::Size& size, const Distribution& distribution) {
  RandomStream stream(0, fmt::format("{} {} {} {}", distribution.name, size.rows, size.depth, size.width));
  const auto numbers = [&](const Draw& one, std::int64_t count) {
    std::vector<float> result(static_cast<std::size_t>(count));
    for (float& x : result) x = static_cast<float>(one(stream));
    return result;
  };
  Operands operands{
      size, numbers(distribution.x, size.rows * size.depth), numbers(distribution.w, size.depth * size.width), {}, {}};
  operands.exact.assign(static_cast<std::size_t>(size.rows * size.width), 0.0);
  operands.scale = operands.exact;
  for (std::int64_t i = 0; i < size.rows; ++i) {
    for (std::int64_t k = 0; k < size.depth; ++k) {
      const double x = operands.x[static_cast<std::size_t>(i * size.depth + k)];
      for (std::int64_t j = 0; j < size.width; ++j) {
        const double term = x * static_cast<double>(operands.w[static_cast<std::size_t>(k * size.width + j)]);
        operands.exact[static_cast<std::size_t>(i * size.width + j)] += term;
        operands.scale[static_cast<std::size_t>(i * size.width + j)] += std::abs(term);
      }
    }
  }
  return operands;
}

using Make = std::function<std::unique_ptr<Product>(Engine&, const Product::Size&, const Product::Weights&)>;

std::vector<float> multiply(const Make& make, const Operands& operands, MatmulPrecision precision,
                            Tiles tiles = Tiles::emulated) {
  Engine engine(2, 1.0, {tiles, precision});
  const auto product = make(engine, operands.size, {operands.w.data()});
  std::vector<float> y(operands.exact.size(), NAN);
  product->run(operands.x.data(), nullptr, y.data());
  return y;
}

std::unique_ptr<Product> on_tiles(Engine& engine, const Product::Size& size, const Product::Weights& weights) {
  return kTileProduct.make(engine, size, DType::float32, weights, {});
}
std::unique_ptr<Product> by_onednn(Engine& engine, const Product::Size& size, const Product::Weights& weights) {
  return kOnednnProduct.make(engine, size, DType::float32, weights, {});
}
std::unique_ptr<Product> by_panels(Engine& engine, const Product::Size& size, const Product::Weights& weights) {
  return kPanelProduct.make(engine, size, DType::float32, weights, {});
}

/// |y − exact| / Σ |x·w|, in units of float32's roundoff 2⁻²⁴.
struct Errors {
  double largest = 0.0, mean = 0.0;  ///< root of the mean square
};
Errors errors_of(const std::vector<float>& y, const Operands& operands) {
  Errors errors;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = std::abs(static_cast<double>(y[i]) - operands.exact[i]) / operands.scale[i] / 0x1p-24;
    errors.largest = std::max(errors.largest, error);
    errors.mean += error * error;
  }
  errors.mean = std::sqrt(errors.mean / static_cast<double>(y.size()));
  return errors;
}

TEST_CASE("tiles: float32 in three parts is as exact as oneDNN's float32 for any numbers") {
  std::string table =
      "| rows × depth × width | numbers | six products | three | one | oneDNN float32 | panels |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Product::Size& size :
       std::vector<Product::Size>{{70, 64, 96}, {66, 300, 100}, {96, 512, 256}, {70, 768, 130}, {65, 2048, 128}}) {
    for (const Distribution& distribution : distributions()) {
      CAPTURE(distribution.name);
      CAPTURE(size.depth);
      const Operands operands = draw(size, distribution);
      const Errors six = errors_of(multiply(on_tiles, operands, MatmulPrecision::highest), operands);
      const Errors three = errors_of(multiply(on_tiles, operands, MatmulPrecision::high), operands);
      const Errors one = errors_of(multiply(on_tiles, operands, MatmulPrecision::medium), operands);
      const Errors onednn = errors_of(multiply(by_onednn, operands, MatmulPrecision::highest), operands);
      const Errors panels = errors_of(multiply(by_panels, operands, MatmulPrecision::highest), operands);
      if (isa() < Isa::avx512) continue;  // no CPU with AMX: oneDNN adds in another order there
      CHECK(six.largest <= onednn.largest);
      CHECK(six.mean <= onednn.mean);
      table += fmt::format("| {} × {} × {} | {} |", size.rows, size.depth, size.width, distribution.name);
      for (const Errors& errors : {six, three, one, onednn, panels})
        table += fmt::format(" {:.2g}, {:.2g} |", errors.largest, errors.mean);
      table += '\n';
    }
  }
  // For docs/internals/cpu.md.
  if (const char* file = std::getenv("ATTN_ERROR_TABLE"); file != nullptr) std::ofstream(file) << table;
}

/// The hardware for bfloat16 products on this CPU, and the emulation.
std::vector<Tiles> tiles_at_hand() {
  std::vector<Tiles> all{Tiles::emulated};
  if (isa() >= Isa::avx512_bf16) all.push_back(Tiles::dots);
  if (isa() >= Isa::amx) all.push_back(Tiles::amx);
  return all;
}

TEST_CASE("tiles: bfloat16 dot products are as exact as tiles for any numbers") {
  if (isa() < Isa::avx512_bf16) return;
  for (const Product::Size& size : std::vector<Product::Size>{{1, 7, 1}, {13, 64, 96}, {44, 2049, 130}}) {
    for (const Distribution& distribution : distributions()) {
      CAPTURE(distribution.name);
      CAPTURE(size.depth);
      const Operands operands = draw(size, distribution);
      const Errors tiles = errors_of(multiply(on_tiles, operands, MatmulPrecision::medium), operands);
      const Errors dots = errors_of(multiply(on_tiles, operands, MatmulPrecision::medium, Tiles::dots), operands);
      // Most of the error is the operands' rounding, which is the same; sums are added in another order.
      CHECK(dots.largest <= 1.01 * tiles.largest);
      CHECK(dots.mean <= 1.01 * tiles.mean);
    }
  }
}

TEST_CASE("tiles: numbers near the smallest lose only what tiles flush to zero") {
  for (const double size : {1e-31, 1e-34, 1e-37, 1e-40}) {
    CAPTURE(size);
    const Distribution small{"small", [&](RandomStream& stream) { return size * stream.normal(); }, normal};
    const Operands operands = draw({40, 100, 40}, small);
    const std::vector<float> y = multiply(on_tiles, operands, MatmulPrecision::highest);
    double largest = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      // Each x loses less than 2⁻¹²⁶, each w (times x) nothing, and each of six products and its sum the same amount
      // again.
      double lost = 7 * 100 * 0x1p-126;
      for (std::size_t k = 0; k < 100; ++k) lost += std::abs(operands.w[k * 40 + i % 40]) * 0x1p-126;
      largest = std::max(largest, std::abs(y[i] - operands.exact[i]) / (lost + 8 * 0x1p-24 * operands.scale[i]));
    }
    CHECK(largest <= 1.0);
  }
}

/// Checks that NaN and infinities are where `operands.exact` has them after rounding to float32.
void check_kinds(const Operands& operands) {
  for (const auto precision : {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    for (const Tiles tiles : tiles_at_hand()) {
      if (tiles == Tiles::dots && precision != MatmulPrecision::medium) continue;  // dot products have one part
      const std::vector<float> y = multiply(on_tiles, operands, precision, tiles);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto expected = static_cast<float>(operands.exact[i]);
        CHECK(std::isnan(y[i]) == std::isnan(expected));
        CHECK(std::isinf(y[i]) == std::isinf(expected));
        if (std::isinf(expected)) CHECK(y[i] == expected);
      }
    }
  }
}

TEST_CASE("tiles: infinity and NaN in x or w appear where a float32 product has them") {
  for (const float special : {kInf, -kInf, NAN}) {
    for (const bool in_x : {true, false}) {
      for (const std::size_t at : {0, 5, 70 * 40 - 1}) {
        const Distribution one{"special", normal, normal};
        Operands operands = draw({70, 40, 70}, one);
        (in_x ? operands.x : operands.w)[at] = special;
        // A power of two has only one part that is not 0. The product of 0 and infinity is NaN.
        operands.w[1] = 2.0F;
        operands.w[2] = 0.0F;
        std::ranges::fill(operands.exact, 0.0);
        for (std::size_t i = 0; i < 70; ++i)
          for (std::size_t k = 0; k < 40; ++k)
            for (std::size_t j = 0; j < 70; ++j)
              operands.exact[i * 70 + j] += static_cast<double>(operands.x[i * 40 + k]) * operands.w[k * 70 + j];
        check_kinds(operands);
      }
    }
  }
}

TEST_CASE("tiles: results are finite or overflow as in a float32 product") {
  const float largest = std::numeric_limits<float>::max();
  struct Row {
    float x, w;
  };
  // Here the first bfloat16 part of a number is rounded up to more than the number, and can overflow.
  for (const Row& row : {Row{largest, 1.0F}, Row{largest, -1.0F}, Row{largest, 0.5F}, Row{0x1.fffp63F, 0x1.fffp63F},
                         Row{largest, 1.5F}, Row{0x1p100F, 0x1p100F}}) {
    Operands operands{{1, 1, 1}, {row.x}, {row.w}, {static_cast<double>(row.x) * row.w}, {1.0}};
    const std::vector<float> y = multiply(on_tiles, operands, MatmulPrecision::highest);
    CHECK(y[0] == static_cast<float>(operands.exact[0]));
  }
}

graph::Unary relu() { return {graph::UnaryFn::relu, 0.0, 0.0, kInf}; }

TEST_CASE("tiles: bias, activation and residual follow the product at every edge, for both dtypes and any threads") {
  struct Row {
    Tiles tiles;
    DType dtype;
  };
  std::vector<Row> rows;
  for (const Tiles tiles : tiles_at_hand()) {
    rows.push_back({tiles, DType::bfloat16});
    if (tiles != Tiles::dots) rows.push_back({tiles, DType::float32});
  }
  for (const Row& row : rows) {
    const Tiles tiles = row.tiles;
    const DType dtype = row.dtype;
    const auto tensor = [&](const std::string& name, Shape shape) {
      RandomStream stream(0, name);
      Tensor made(dtype, std::move(shape));
      for (std::int64_t i = 0; i < made.size(); ++i) made.set(i, stream.normal());
      return made;
    };
    for (const Product::Size& size : std::vector<Product::Size>{
             {1, 1, 1}, {15, 31, 33}, {16, 32, 32}, {17, 33, 31}, {32, 40, 64}, {33, 65, 95}, {100, 7, 5}}) {
      CAPTURE(size.rows);
      CAPTURE(name_of(dtype));
      const Tensor x = tensor("x", {size.rows, size.depth}), w = tensor("w", {size.depth, size.width});
      const Tensor bias = tensor("bias", {size.width}), residual = tensor("residual", {size.rows, size.width});
      for (const graph::Unary& activation : {graph::Unary{}, relu(), graph::Unary{graph::UnaryFn::gelu}}) {
        for (const int threads : {1, 3}) {
          // One number more on both sides, which must stay unchanged.
          Tensor y(dtype, {size.rows * size.width + 2});
          y.set(0, 7.0);
          y.set(y.size() - 1, 7.0);
          Engine engine(threads, 1.0, {tiles, MatmulPrecision::highest});
          const auto product = kTileProduct.make(engine, size, dtype, {w.data()}, {bias.data(), activation, true});
          product->run(x.data(), residual.data(), y.data() + bytes_of(dtype));
          CHECK(y.at(0) == 7.0);
          CHECK(y.at(y.size() - 1) == 7.0);
          double worst = 0.0;
          for (std::int64_t i = 0; i < size.rows; ++i) {
            for (std::int64_t j = 0; j < size.width; ++j) {
              double sum = bias.at(j), scale = std::abs(sum) + 1.0;
              for (std::int64_t k = 0; k < size.depth; ++k) {
                const double term = x.at(i * size.depth + k) * w.at(k * size.width + j);
                sum += term;
                scale += std::abs(term);
              }
              const double expected = apply(activation, sum) + residual.at(i * size.width + j);
              const double got = y.at(1 + i * size.width + j);
              // The sum to 2 roundings of its scale, gelu to 1.1 times that and its own, and the result's rounding.
              const double roundoff = dtype == DType::float32 ? 0x1p-24 : 0x1p-8;
              const double allowed = 6 * 0x1p-24 * scale + 2 * roundoff * std::abs(expected);
              worst = std::max(worst, std::abs(got - expected) / allowed);
            }
          }
          CHECK(worst <= 1.0);
        }
      }
    }
  }
}

TEST_CASE("tiles: a packed handover has the bits of a stored result") {
  for (const Tiles tiles : tiles_at_hand()) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      if (tiles == Tiles::dots && dtype == DType::float32) continue;
      for (const std::int64_t rows : {1, 33, 300}) {
        const std::int64_t depth = 40, inner = 96, width = 50;
        const auto tensor = [&](const std::string& name, Shape shape) {
          RandomStream stream(0, name);
          Tensor made(dtype, std::move(shape));
          for (std::int64_t i = 0; i < made.size(); ++i) made.set(i, stream.normal());
          return made;
        };
        const Tensor x = tensor("x", {rows, depth}), first = tensor("first", {depth, inner});
        const Tensor bias = tensor("bias", {inner}), second = tensor("second", {inner, width});
        const Tensor residual = tensor("residual", {rows, width});
        for (const int threads : {1, 3}) {
          Engine engine(threads, 1.0, {tiles, MatmulPrecision::highest});
          const auto run = [&](Handover from, Handover to) {
            Tensor h(dtype, {rows, inner}), y(dtype, {rows, width});
            const graph::Unary gelu{graph::UnaryFn::gelu};
            kTileProduct.make(engine, {rows, depth, inner}, dtype, {first.data()}, {bias.data(), gelu, false, from})
                ->run(x.data(), nullptr, h.data());
            kTileProduct.make(engine, {rows, inner, width}, dtype, {second.data()}, {nullptr, {}, true, to})
                ->run(h.data(), residual.data(), y.data());
            return std::vector<std::byte>(y.data(), y.data() + y.bytes());
          };
          const auto stored = run({}, {});
          SharedMemory& memory = engine.handovers[0];
          memory.reserve((rows + 31) / 32 * tile_block_size(inner, tile_parts(dtype, {})) * 2);
          CHECK(run({.leaves = &memory}, {.takes = &memory}) == stored);
        }
      }
    }
  }
}

TEST_CASE("tiles: the bits do not depend on threads or other rows") {
  const Operands operands = draw({200, 96, 160}, {"normal", normal, normal});
  std::vector<float> first;
  for (const int threads : {1, 2, 7}) {
    Engine engine(threads, 1.0, {Tiles::emulated, MatmulPrecision::highest});
    const auto product = on_tiles(engine, operands.size, {operands.w.data()});
    std::vector<float> y(operands.exact.size(), NAN);
    product->run(operands.x.data(), nullptr, y.data());
    if (first.empty()) first = y;
    CHECK(y == first);
  }
  Engine engine(1, 1.0, {Tiles::emulated, MatmulPrecision::highest});
  std::vector<float> row(160);
  on_tiles(engine, {1, 96, 160}, {operands.w.data()})->run(operands.x.data() + 17 * 96, nullptr, row.data());
  CHECK(std::equal(row.begin(), row.end(), first.begin() + 17 * 160));
}

TEST_CASE("tiles: rows that exceed a cache are packed in groups, within the estimated scratch memory") {
  // 48 KB for each block of 32 rows and step: a second-level cache of 2 MB holds 32 of these.
  const Product::Size size{1700, 256, 33};
  const Multiplication multiplication{Tiles::emulated, MatmulPrecision::highest};
  const ProductQuery query{size, DType::float32, DType::float32, multiplication};
  const Operands operands = draw(size, {"normal", normal, normal});
  Engine engine(2, 1.0, multiplication);
  const auto product = kTileProduct.make(engine, size, DType::float32, {operands.w.data()}, {});
  CHECK(engine.scratch.size() == kTileProduct.scratch_bytes(query, 2));
  CHECK(engine.scratch.size() < 1700 * 256 * 6);
  CHECK(product->bytes() == kTileProduct.packed_bytes(query) + kTileProduct.held_bytes(query));
  CHECK(kTileProduct.packed_bytes(query) == 64 * 256 * 6);
  std::vector<float> y(operands.exact.size(), NAN);
  product->run(operands.x.data(), nullptr, y.data());
  CHECK(errors_of(y, operands).largest < 2.0);
}

}  // namespace
}  // namespace attn::backends::cpu
