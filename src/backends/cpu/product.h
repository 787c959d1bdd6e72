// y = activation(x·w + bias) + residual with w packed once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "kernel.h"
#include "unary.h"

namespace attn::backends::cpu {

class Product {
 public:
  /// x (rows, depth) · w (depth, width), all at least 1.
  struct Size {
    std::int64_t rows, depth, width;
  };
  struct Weights {
    const void* numbers;           ///< (depth, width), dense
    Packed* packed = nullptr;      ///< where it is left, and found, packed; null: nobody else reads it
    DType dtype = DType::float32;  ///< that of x, or on panels also bfloat16 beside float32
  };
  struct Fusion {
    const void* bias = nullptr;  ///< (width), or null
    graph::Unary activation;
    bool residual = false;
    Handover handover = Handover::none;
  };

  virtual ~Product() = default;
  /// `residual` (rows, width) is read where it was announced; y is neither of the others.
  virtual void run(const void* x, const void* residual, void* y) = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::int64_t bytes() const = 0;  ///< weights that it packed, and scratch
};

/// Of a dense map of x by a kernel.
[[nodiscard]] Product::Size product_size(const graph::Linear& op, const Shape& x, const Shape& kernel);

/// Of float32 by oneDNN, a block of rows at a time.
[[nodiscard]] std::unique_ptr<Product> make_onednn_product(Engine& engine, const Product::Size& size,
                                                           const Product::Weights& weights,
                                                           const Product::Fusion& fusion);

/// Of float32: panels of 32 columns of w, each read once for a block of rows while the next one is fetched. Of weights
/// in bfloat16 the panels hold half the bytes, and each is widened for a block of rows.
[[nodiscard]] std::unique_ptr<Product> make_panel_product(Engine& engine, const Product::Size& size,
                                                          const Product::Weights& weights,
                                                          const Product::Fusion& fusion);

/// Of a thread each, for a widened panel.
[[nodiscard]] std::int64_t panel_scratch_bytes(const Product::Size& size, DType weights, std::int64_t threads);

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
