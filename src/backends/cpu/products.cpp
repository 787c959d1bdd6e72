#include "products.h"

#include <array>

#include "amx_product.h"
#include "attn/base/error.h"
#include "attn/base/size.h"
#include "panel.h"

namespace attn::backends::cpu {

ProductKind product_kind(const Product::Size& size, DType dtype, const Multiplication& multiplication) {
  if (takes_tiles(size, dtype, multiplication)) return ProductKind::tiles;
  return isa() >= Isa::avx512 ? ProductKind::panels : ProductKind::onednn;
}

bool keeps_bfloat16(const graph::Linear& op, const Shape& x, const Shape& kernel,
                    const Multiplication& multiplication) {
  return product_kind(product_size(op, x, kernel), DType::float32, multiplication) == ProductKind::panels;
}

std::int64_t packed_bytes(const Product::Size& size, DType dtype, DType weights, const Multiplication& multiplication) {
  const ProductKind kind = product_kind(size, dtype, multiplication);
  if (kind == ProductKind::tiles) return tile_packed_bytes(size, dtype, multiplication);
  const bool panels = kind == ProductKind::panels;
  constexpr std::int64_t kBlock = 64;  // the widest of oneDNN's
  const std::int64_t width = panels ? (size.width + kPanel - 1) / kPanel + 1 : (size.width + kBlock - 1) / kBlock;
  const std::array factors{width, panels ? kPanel : kBlock, size.depth, bytes_of(panels ? weights : DType::float32)};
  return checked_product(factors).value_or(kMaxSize);
}

std::unique_ptr<Product> make_product(Engine& engine, const Product::Size& size, DType dtype,
                                      const Product::Weights& weights, const Product::Fusion& fusion) {
  const ProductKind kind = product_kind(size, dtype, engine.multiplication);
  if (kind != ProductKind::tiles && dtype != DType::float32)
    throw internal_error("no product of {} without what multiplies it", name_of(dtype));
  switch (kind) {
    case ProductKind::panels:
      return make_panel_product(engine, size, weights, fusion);
    case ProductKind::tiles:
      return make_tile_product(engine, size, dtype, weights, fusion);
    case ProductKind::onednn:
      break;
  }
  return make_onednn_product(engine, size, weights, fusion);
}

}  // namespace attn::backends::cpu
