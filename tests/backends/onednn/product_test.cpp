#include "product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "attn/backends/reference.h"
#include "attn/base/rng.h"

namespace attn::backends::onednn {
namespace {

Tensor draw(const std::string& name, Shape shape, DType dtype) {
  RandomStream stream(0, name);
  Tensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, stream.normal());
  return tensor;
}

graph::Unary relu() { return {graph::UnaryFn::relu, 0.0, 0.0, std::numeric_limits<double>::infinity()}; }

using Make = std::unique_ptr<Product> (*)(Engine&, const Product::Size&, DType, const Product::Weights&,
                                          const Product::Fusion&);

std::unique_ptr<Product> make_panels(Engine& engine, const Product::Size& size, DType, const Product::Weights& weights,
                                     const Product::Fusion& fusion) {
  return make_panel_product(engine, size, weights, fusion);
}

/// Runs a product and compares it with the sums in double: √k roundings of the largest sums of products.
void check(Make make, const Product::Size& size, DType dtype, const graph::Unary& activation, bool with_bias,
           bool with_residual) {
  const Tensor x = draw("x", {size.rows, size.depth}, dtype), w = draw("w", {size.depth, size.width}, dtype);
  const Tensor bias = draw("bias", {size.width}, dtype), residual = draw("residual", {size.rows, size.width}, dtype);
  const Tensor y(dtype, {size.rows, size.width});
  Engine engine(3, 1.0);
  const auto product =
      make(engine, size, dtype, {w.data()}, {with_bias ? bias.data() : nullptr, activation, with_residual});
  product->run(x.data(), with_residual ? residual.data() : nullptr, y.data());

  const double roundoff = dtype == DType::float32 ? std::ldexp(1.0, -24) : std::ldexp(1.0, -8);
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
      const double growth = dtype == DType::float32 ? std::sqrt(static_cast<double>(size.depth)) : 1.0;
      const double allowed = 4.0 * roundoff * (growth * scale + 1.0);
      worst = std::max(worst, std::abs(y.at(i * size.width + m) - expected) / allowed);
    }
  }
  CAPTURE(size.rows);
  CAPTURE(size.depth);
  CAPTURE(size.width);
  CHECK(worst <= 1.0);
}

TEST_CASE("product: panels and oneDNN agree with plain sums, at every tile's edge, fused and not") {
  for (const Make make : {Make(make_panels), Make(make_onednn_product), Make(make_product)}) {
    for (const std::int64_t rows : {1, 2, 11, 12, 13, 25, 128, 129, 300}) {
      for (const std::int64_t width : {1, 31, 32, 33, 65}) {
        check(make, {rows, 17, width}, DType::float32, {}, true, false);
      }
      check(make, {rows, 1, 40}, DType::float32, relu(), false, false);
      check(make, {rows, 65, 40}, DType::float32, {graph::UnaryFn::gelu}, true, false);
      check(make, {rows, 33, 40}, DType::float32, {graph::UnaryFn::tanh}, true, true);
      check(make, {rows, 33, 40}, DType::float32, relu(), true, true);
    }
  }
}

TEST_CASE("product: bfloat16 through oneDNN, with activations of its own and ours") {
  if (isa() < Isa::avx512) return;  // it has none
  for (const std::int64_t rows : {1, 130}) {
    check(make_onednn_product, {rows, 65, 40}, DType::bfloat16, {}, true, false);
    check(make_onednn_product, {rows, 65, 40}, DType::bfloat16, relu(), true, true);
    check(make_onednn_product, {rows, 65, 40}, DType::bfloat16, {graph::UnaryFn::gelu_tanh}, false, true);
  }
}

TEST_CASE("product: a relu keeps the NaN that it is given") {
  for (const Make make : {Make(make_panels), Make(make_onednn_product)}) {
    const Tensor w = draw("w", {4, 40}, DType::float32);
    Tensor x = draw("x", {130, 4}, DType::float32);
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
}  // namespace attn::backends::onednn
