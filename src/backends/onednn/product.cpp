#include "product.h"

#include <algorithm>
#include <array>

#include "amx_product.h"
#include "attn/base/size.h"
#include "convert.h"
#include "loops.h"
#include "panels.h"

namespace attn::backends::onednn {
Finish::Finish(const graph::Unary& activation, bool residual, DType dtype) : residual_(residual), dtype_(dtype) {
  if (activation.fn != graph::UnaryFn::linear) activation_.emplace(activation);
}

void Finish::run_on_floats(const float* residual, float* y, std::int64_t count) const {
  if (activation_) (*activation_)(y, y, count);
  if (residual_) add_to(y, residual, count);
}

void Finish::run(const void* residual, void* y, std::int64_t count) const {
  if (dtype_ == DType::float32) {
    run_on_floats(static_cast<const float*>(residual), static_cast<float*>(y), count);
    return;
  }
  std::array<float, 512> numbers, others;
  constexpr auto kBlock = static_cast<std::int64_t>(numbers.size());
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t part = std::min(kBlock, count - i);
    std::uint16_t* const half = static_cast<std::uint16_t*>(y) + i;
    widen(dtype_, half, numbers.data(), part);
    if (residual_) widen(dtype_, static_cast<const std::uint16_t*>(residual) + i, others.data(), part);
    run_on_floats(others.data(), numbers.data(), part);
    narrow(dtype_, numbers.data(), half, part);
  }
}

ProductKind product_kind(const Product::Size& size, DType dtype, const Multiplication& multiplication) {
  if (takes_tiles(size, dtype, multiplication)) return ProductKind::tiles;
  const bool panels = dtype == DType::float32 && isa() >= Isa::avx512;
  return panels ? ProductKind::panels : ProductKind::onednn;
}

std::int64_t packed_bytes(const Product::Size& size, DType dtype, const Multiplication& multiplication) {
  const ProductKind kind = product_kind(size, dtype, multiplication);
  if (kind == ProductKind::tiles) return tile_packed_bytes(size, dtype, multiplication);
  const bool panels = kind == ProductKind::panels;
  constexpr std::int64_t kBlock = 64;  // the widest of oneDNN's
  const std::int64_t width = panels ? (size.width + kPanel - 1) / kPanel + 1 : (size.width + kBlock - 1) / kBlock;
  const std::array factors{width, panels ? kPanel : kBlock, size.depth, bytes_of(dtype)};
  return checked_product(factors).value_or(kMaxSize);
}

std::unique_ptr<Product> make_product(Engine& engine, const Product::Size& size, DType dtype,
                                      const Product::Weights& weights, const Product::Fusion& fusion) {
  switch (product_kind(size, dtype, engine.multiplication)) {
    case ProductKind::panels:
      return make_panel_product(engine, size, weights, fusion);
    case ProductKind::tiles:
      return make_tile_product(engine, size, dtype, weights, fusion);
    case ProductKind::onednn:
      break;
  }
  return make_onednn_product(engine, size, dtype, weights, fusion);
}

}  // namespace attn::backends::onednn
