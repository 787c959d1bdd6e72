// y = activation(x·w + bias) + residual, with w packed once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "operations/unary.h"
#include "panel.h"
#include "step.h"

namespace attn::backends::cpu {

class Product {
 public:
  /// The sizes of x (rows, depth) · w (depth, width), all at least 1.
  struct Size {
    std::int64_t rows, depth, width;
  };
  struct Weights {
    const void* numbers;             ///< (depth, width), dense
    PackedWeight* packed = nullptr;  ///< where the packed copy is shared; null: no other kernel reads the weight
    DType dtype = DType::float32;    ///< the dtype of x; panels also support half precision with a float32 x
    bool transposed = false;         ///< whether `numbers` is (width, depth); only for float32

    /// Returns the columns of float32 numbers from `column` on.
    [[nodiscard]] View columns_from(std::int64_t column, const Size& size) const {
      const auto* const all = static_cast<const float*>(numbers);
      return transposed ? View{all + column * size.depth, 1, size.depth} : View{all + column, size.width, 1};
    }
  };
  struct Fusion {
    const void* bias = nullptr;  ///< (width), or null
    graph::Unary activation;
    bool residual = false;
    Handover handover{};
  };

  virtual ~Product() = default;
  /// `residual` (rows, width) is read if it was declared. y must not alias either operand.
  virtual void run(const void* x, const void* residual, void* y) = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;  ///< bytes of packed weights and scratch memory
};

/// Returns the size of a dense map of x by a kernel.
[[nodiscard]] Product::Size product_size(const graph::Linear& op, const Shape& x, const Shape& kernel);

/// The question whether a method supports a product.
struct ProductQuery {
  Product::Size size;
  DType dtype = DType::float32;    ///< dtype of x, the bias, the residual and y
  DType weights = DType::float32;  ///< the dtype of x, or half precision with a float32 x
  Multiplication multiplication;
};

/// A method for products with a weight. Its record states what it supports, its memory, and how it is made.
struct ProductInfo {
  bool (&takes)(const ProductQuery& query);
  /// Returns the layout of the packed weights.
  Layout (&layout)(const ProductQuery& query);
  /// Returns the bytes of the packed weights; kMaxSize on overflow. Sizes may be 0.
  std::int64_t (&packed_bytes)(const ProductQuery& query);
  /// Returns the bytes of other memory that a product keeps.
  std::int64_t (&held_bytes)(const ProductQuery& query);
  /// Returns the bytes of scratch memory that a product needs.
  std::int64_t (&scratch_bytes)(const ProductQuery& query, int threads);
  /// Makes a product: packs the weights and the bias. x, y, bias and residual have `dtype`.
  std::unique_ptr<Product> (&make)(Engine& engine, const Product::Size& size, DType dtype,
                                   const Product::Weights& weights, const Product::Fusion& fusion);
  bool hands_over;  ///< whether it supports Handover
  bool is_library;  ///< whether it uses oneDNN
};

/// Float32 products by oneDNN, one block of rows at a time.
extern const ProductInfo kOnednnProduct;

/// Float32 products by panels of 32 columns of w. Each panel is read once for a block of rows while the next one is
/// prefetched. Half-precision panels need half the bytes, and each is widened for a block of rows. With AVX-512, panels
/// are never slower than oneDNN, which does not prefetch. Measured in GFLOP/s on one core (peak 229) for 48 rows, 512 x
/// 2048 and 2048 x 512, weights not in cache: 184 and 177 against oneDNN's 133 and 130. With hundreds of rows both
/// reach 200, but panels are also cut along columns, so that threads finish at the same time.
extern const ProductInfo kPanelProduct;

/// Float32 or bfloat16 products on bfloat16 tiles, as the engine's `multiplication` selects. Emulated tiles support all
/// products.
extern const ProductInfo kTileProduct;

/// The separate epilogue of a product: applies the activation, then adds the residual, to results that were just
/// written.
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
