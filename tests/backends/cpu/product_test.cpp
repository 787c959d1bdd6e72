#include "gemm/product.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "attn/backends/reference.h"
#include "attn/base/rng.h"

namespace attn::backends::cpu {
namespace {

Tensor draw(const std::string& name, Shape shape) {
  RandomStream stream(0, name);
  Tensor tensor(DType::float32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, stream.normal());
  return tensor;
}

graph::Unary relu() { return {graph::UnaryFn::relu, 0.0, 0.0, std::numeric_limits<double>::infinity()}; }

using Make = std::unique_ptr<Product> (&)(Engine&, const Product::Size&, DType, const Product::Weights&,
                                          const Product::Fusion&);

/// Runs a product and compares it with sums in double: √k roundings of the largest sum of products.
void check(Make make, const Product::Size& size, const graph::Unary& activation, bool with_bias, bool with_residual) {
  const Tensor x = draw("x", {size.rows, size.depth}), w = draw("w", {size.depth, size.width});
  const Tensor bias = draw("bias", {size.width}), residual = draw("residual", {size.rows, size.width});
  const Tensor y(DType::float32, {size.rows, size.width});
  Engine engine(3, 1.0);
  const auto product =
      make(engine, size, DType::float32, {w.data()}, {with_bias ? bias.data() : nullptr, activation, with_residual});
  product->run(x.data(), with_residual ? residual.data() : nullptr, y.data());

  const double roundoff = std::ldexp(1.0, -24);
  double worst = 0.0;
  for (std::int64_t i = 0; i < size.rows; ++i) {
    for (std::int64_t m = 0; m < size.width; ++m) {
      double sum = with_bias ? bias.at(m) : 0.0, scale = std::abs(sum);
      for (std::int64_t k = 0; k < size.depth; ++k) {
        const double term = x.at(i * size.depth + k) * w.at(k * size.width + m);
        sum += term;
        scale += std::abs(term);
      }
      double expected = apply(activation, sum);
      if (with_residual) expected += residual.at(i * size.width + m);
      const double growth = std::sqrt(static_cast<double>(size.depth));
      const double allowed = 4.0 * roundoff * (growth * scale + 1.0);
      worst = std::max(worst, std::abs(y.at(i * size.width + m) - expected) / allowed);
    }
  }
  CAPTURE(size.rows);
  CAPTURE(size.depth);
  CAPTURE(size.width);
  CHECK(worst <= 1.0);
}

TEST_CASE("product: panels and oneDNN agree with plain sums, at every tile edge, fused and not") {
  for (const auto make : {&kPanelProduct.make, &kOnednnProduct.make}) {
    for (const std::int64_t rows : {1, 2, 11, 12, 13, 25, 128, 129, 300}) {
      for (const std::int64_t width : {1, 31, 32, 33, 65}) {
        check(*make, {rows, 17, width}, {}, true, false);
      }
      check(*make, {rows, 1, 40}, relu(), false, false);
      check(*make, {rows, 65, 40}, {graph::UnaryFn::gelu}, true, false);
      check(*make, {rows, 33, 40}, {graph::UnaryFn::tanh}, true, true);
      check(*make, {rows, 33, 40}, relu(), true, true);
    }
  }
}

TEST_CASE("product: bfloat16 panels give the bits of float32 panels of the same numbers") {
  for (const Product::Size& size :
       {Product::Size{1, 17, 1}, {13, 1, 33}, {300, 65, 40}, {25, 1100, 96}, {500, 2100, 31}, {7, 48, 128}}) {
    CAPTURE(size.rows);
    CAPTURE(size.width);
    const Tensor x = draw("x", {size.rows, size.depth}), bias = draw("bias", {size.width});
    const Tensor kept = draw("w", {size.depth, size.width}).cast(DType::bfloat16), wide = kept.cast(DType::float32);
    const Tensor y(DType::float32, {size.rows, size.width}), expected(DType::float32, {size.rows, size.width});
    Engine engine(3, 1.0);
    PackedWeight packed;  // shared, as for a weight that two steps read
    const Product::Fusion fusion{bias.data(), relu(), false};
    kPanelProduct.make(engine, size, DType::float32, {wide.data(), &packed}, fusion)
        ->run(x.data(), nullptr, expected.data());
    const auto product =
        kPanelProduct.make(engine, size, DType::float32, {kept.data(), &packed, DType::bfloat16}, fusion);
    product->run(x.data(), nullptr, y.data());
    CHECK(std::memcmp(y.data(), expected.data(), static_cast<std::size_t>(y.bytes())) == 0);
  }
}

TEST_CASE("product: relu keeps NaN") {
  for (const auto make : {&kPanelProduct.make, &kOnednnProduct.make}) {
    const Tensor w = draw("w", {4, 40});
    Tensor x = draw("x", {130, 4});
    x.set(129 * 4 + 1, std::nan(""));
    const Tensor y(DType::float32, {130, 40});
    Engine engine(2, 1.0);
    make(engine, {130, 4, 40}, DType::float32, {w.data()}, {nullptr, relu(), false})->run(x.data(), nullptr, y.data());
    for (std::int64_t m = 0; m < 40; ++m) {
      CHECK(std::isnan(y.at(129 * 40 + m)));
      CHECK(!std::isnan(y.at(128 * 40 + m)));
    }
  }
}

}  // namespace
}  // namespace attn::backends::cpu
