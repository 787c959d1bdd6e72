// y = activation(x·w + bias) + residual with w packed once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "step.h"
#include "unary.h"

namespace attn::backends::cpu {

class Product {
 public:
  /// x (rows, depth) · w (depth, width), all at least 1.
  struct Size {
    std::int64_t rows, depth, width;
  };
  struct Weights {
    const void* numbers;             ///< (depth, width), dense
    PackedWeight* packed = nullptr;  ///< where it is left, and found, packed; null: nobody else reads it
    DType dtype = DType::float32;    ///< that of x, or on panels also a half beside float32
  };
  struct Fusion {
    const void* bias = nullptr;  ///< (width), or null
    graph::Unary activation;
    bool residual = false;
    Handover handover{};
  };

  virtual ~Product() = default;
  /// `residual` (rows, width) is read where it was announced; y is neither of the others.
  virtual void run(const void* x, const void* residual, void* y) = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;  ///< weights that it packed, and scratch
};

/// The size of a dense map of x by a kernel.
[[nodiscard]] Product::Size product_size(const graph::Linear& op, const Shape& x, const Shape& kernel);

/// What a product's record is asked about.
struct ProductQuery {
  Product::Size size;
  DType dtype = DType::float32;    ///< of x, the bias, the residual and y
  DType weights = DType::float32;  ///< that of x, or a half beside float32
  Multiplication multiplication;
};

/// One way to compute products by a weight: the record of what it takes, what memory that costs, and how it is made.
struct ProductInfo {
  bool (&takes)(const ProductQuery& query);
  /// How it packs the weights.
  Layout (&layout)(const ProductQuery& query);
  /// What the packed weights take; kMaxSize where no number tells it. Sizes may be 0.
  std::int64_t (&packed_bytes)(const ProductQuery& query);
  /// What else it keeps.
  std::int64_t (&held_bytes)(const ProductQuery& query);
  /// What it takes of the scratch that kernels share.
  std::int64_t (&scratch_bytes)(const ProductQuery& query, int threads);
  /// Packs the weights and the bias. x, y, bias and residual are of `dtype`.
  std::unique_ptr<Product> (&make)(Engine& engine, const Product::Size& size, DType dtype,
                                   const Product::Weights& weights, const Product::Fusion& fusion);
  bool hands_over;  ///< Does it know Handover?
  bool is_library;  ///< Is it oneDNN's?
};

/// Float32 by oneDNN, a block of rows at a time.
extern const ProductInfo kOnednnProduct;

/// Float32 by panels of 32 columns of w, each read once for a block of rows while the next one is fetched. Of weights
/// in half precision the panels hold half the bytes, and each is widened for a block of rows. Where there is AVX-512,
/// panels are never slower than oneDNN's: GFLOP/s of one core (of 229) for 48 rows, 512 x 2048 and 2048 x 512, weights
/// not in cache: 184 and 177, oneDNN, which does not fetch ahead, 133 and 130; with hundreds of rows both reach 200,
/// but panels are cut into pieces of columns too, so that threads end together.
extern const ProductInfo kPanelProduct;

/// Float32 or bfloat16 on tiles of bfloat16, as the engine's `multiplication` has it. On emulated tiles all are.
extern const ProductInfo kTileProduct;

/// What follows a product and is not part of it: the activation, then the residual, over numbers just written.
class Finish {
 public:
  Finish(const graph::Unary& activation, bool residual);
  [[nodiscard]] bool is_needed() const { return activation_ || residual_; }
  /// y = activation(y) + residual, `count` numbers.
  void run(const float* residual, float* y, std::int64_t count) const;

 private:
  std::optional<UnaryLoop> activation_;
  bool residual_;
};

}  // namespace attn::backends::cpu
