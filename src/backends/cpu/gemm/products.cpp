#include "products.h"

#include <algorithm>
#include <array>

#include "attn/base/error.h"
#include "attn/plan/bytes.h"

namespace attn::backends::cpu {
namespace {

/// The methods, the best first.
const std::array kProducts{&kTileProduct, &kPanelProduct, &kOnednnProduct};

const ProductInfo& product_for(const ProductQuery& query) {
  const ProductInfo* const product = find_product(query);
  if (product == nullptr) throw internal_error("no product of {} by {}", name_of(query.dtype), name_of(query.weights));
  return *product;
}

/// Adds the needs of a product except its packed weights.
void add_other_needs(const StepInfo& step, const ProductQuery& query, const ProductInfo& product, MemoryNeeds& needs) {
  needs.held = plan::sum_of_bytes({needs.held, product.held_bytes(query)});
  needs.scratch = std::max(needs.scratch, product.scratch_bytes(query, step.machine.threads));
  needs.uses_library = needs.uses_library || product.is_library;
}

}  // namespace

const ProductInfo* find_product(const ProductQuery& query) {
  const auto found = std::ranges::find_if(kProducts, [&](const ProductInfo* product) { return product->takes(query); });
  return found == kProducts.end() ? nullptr : *found;
}

std::unique_ptr<Product> make_product(Engine& engine, const Product::Size& size, DType dtype,
                                      const Product::Weights& weights, const Product::Fusion& fusion) {
  return product_for({size, dtype, weights.dtype, engine.multiplication}).make(engine, size, dtype, weights, fusion);
}

void add_shared_product(const StepInfo& step, const ProductQuery& query, std::size_t input, bool is_transposed,
                        MemoryNeeds& needs) {
  const ProductInfo& product = product_for(query);
  needs.packs.push_back({input, is_transposed, product.layout(query), product.packed_bytes(query)});
  add_other_needs(step, query, product, needs);
}

void add_product(const StepInfo& step, const ProductQuery& query, MemoryNeeds& needs) {
  const ProductInfo& product = product_for(query);
  needs.held = plan::sum_of_bytes({needs.held, product.packed_bytes(query)});
  add_other_needs(step, query, product, needs);
}

}  // namespace attn::backends::cpu
