// y = activation(x·w + bias) + residual with w packed once, by oneDNN.
#pragma once

#include <cstdint>
#include <optional>

#include "kernel.h"
#include "primitive.h"
#include "unary.h"

namespace attn::backends::onednn {

class PackedMatmul {
 public:
  /// x (rows, depth) · w (depth, width), all at least 1.
  struct Size {
    std::int64_t rows, depth, width;
  };
  struct Fusion {
    const void* bias = nullptr;  ///< (width), or null
    graph::Unary activation;
    bool residual = false;
  };

  /// Packs `weights` (depth, width) and the bias, float32 or bfloat16, which x, y and the residual then are too.
  PackedMatmul(Engine& engine, const Size& size, DType dtype, const void* weights, const Fusion& fusion);

  /// `residual` (rows, width) is read where it was announced; y is neither of the others.
  void run(const void* x, const void* residual, void* y);

  [[nodiscard]] std::int64_t bytes() const;

 private:
  /// A primitive whose x, y and residual are set at each run.
  struct Product {
    Primitive primitive;
    std::size_t x = 0, y = 0, residual = 0;
  };
  Product make_product(const std::optional<Eltwise>& eltwise, const void* weights);
  void run(Product& product, const void* x, const void* residual, void* y) const;
  void finish(const void* residual, void* y) const;
  void make_relu_product(const void* weights, const void* bias);
  [[nodiscard]] bool is_bounded(const void* x) const;

  Engine& engine_;
  Size size_;
  DType dtype_;
  int threads_;
  dnnl::memory weights_, bias_;
  bool adds_residual_;  ///< in the product
  std::optional<Product> product_;
  std::optional<UnaryLoop> activation_;  ///< in a loop after the product, then the residual
  bool residual_after_ = false;

  // oneDNN's relu turns NaN into 0, and a pass over y for a relu of our own costs 3 to 7 % of the product. So oneDNN's
  // is used where no NaN can arise: where every |x| is at most this, no sum of products overflows. Looking at x is
  // cheap where it is narrower than y, and brings it into the cache.
  std::optional<Product> relu_product_;
  float largest_x_ = 0.0F;
};

}  // namespace attn::backends::onednn
