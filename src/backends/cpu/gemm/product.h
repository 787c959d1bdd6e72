// y = activation(x·w + bias) + residual, with w packed once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "operations/unary.h"
#include "step.h"

namespace attn::backends::cpu {

class Product {
 public:
  /// x (rows, depth) · w (depth, width), all at least 1.
  struct Size {
    std::int64_t rows, depth, width;
  };
  struct Weights {
    const void* numbers;             ///< (depth, width), dense
    PackedWeight* packed = nullptr;  ///< the place of the packed copy, to share it; null: nobody else reads it
    DType dtype = DType::float32;    ///< the dtype of x; panels also take half precision with a float32 x
  };
  struct Fusion {
    const void* bias = nullptr;  ///< (width), or null
    graph::Unary activation;
    bool residual = false;
    Handover handover{};
  };

  virtual ~Product() = default;
  /// `residual` (rows, width) is read if it was declared; y aliases neither.
  virtual void run(const void* x, const void* residual, void* y) = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;  ///< its packed weights and scratch memory
};

/// Returns the size of a dense map of x by a kernel.
[[nodiscard]] Product::Size product_size(const graph::Linear& op, const Shape& x, const Shape& kernel);

/// The query to a product's record.
struct ProductQuery {
  Product::Size size;
  DType dtype = DType::float32;    ///< dtype of x, the bias, the residual and y
  DType weights = DType::float32;  ///< that of x, or half precision with float32
  Multiplication multiplication;
};

/// A method for products with a weight: its record states what it supports, its memory, and how it is made.
struct ProductInfo {
  bool (&takes)(const ProductQuery& query);
  /// The layout of its packed weights.
  Layout (&layout)(const ProductQuery& query);
  /// The bytes of the packed weights; kMaxSize on overflow. Sizes may be 0.
  std::int64_t (&packed_bytes)(const ProductQuery& query);
  /// Other memory that it keeps.
  std::int64_t (&held_bytes)(const ProductQuery& query);
  /// The bytes of the method's share of the scratch memory.
  std::int64_t (&scratch_bytes)(const ProductQuery& query, int threads);
  /// Packs the weights and the bias. x, y, bias and residual have `dtype`.
  std::unique_ptr<Product> (&make)(Engine& engine, const Product::Size& size, DType dtype,
                                   const Product::Weights& weights, const Product::Fusion& fusion);
  bool hands_over;  ///< whether it supports Handover
  bool is_library;  ///< whether it is oneDNN's
};

/// Float32 by oneDNN, one block of rows at a time.
extern const ProductInfo kOnednnProduct;

/// Float32 by panels of 32 columns of w; each is read once for a block of rows while the next one is prefetched.
/// Half-precision panels take half the bytes, and each is widened for a block of rows. With AVX-512, panels are never
/// slower than oneDNN, which does not prefetch. Measured in GFLOP/s on one core (peak 229) for 48 rows, 512 x 2048 and
/// 2048 x 512, weights not in cache: 184 and 177 against oneDNN's 133 and 130. With hundreds of rows both reach 200,
/// but panels are also cut along columns, so that threads finish together.
extern const ProductInfo kPanelProduct;

/// Float32 or bfloat16 on bfloat16 tiles, as the engine's `multiplication` selects. Emulated tiles take all products.
extern const ProductInfo kTileProduct;

/// The separate epilogue of a product: the activation, then the residual, over numbers just written.
class Finish {
 public:
  Finish(const graph::Unary& activation, bool residual);
  [[nodiscard]] bool is_needed() const { return activation_ || residual_; }
  /// y = activation(y) + residual, for `count` numbers.
  void run(const float* residual, float* y, std::int64_t count) const;

 private:
  std::optional<UnaryLoop> activation_;
  bool residual_;
};

}  // namespace attn::backends::cpu
