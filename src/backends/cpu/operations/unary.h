// Unary functions over arrays.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <string>

#include "attn/graph/op.h"

namespace attn::backends::cpu {

/// Returns whether the function is max(x, 0).
[[nodiscard]] bool is_plain_relu(const graph::Unary& function);

/// y[i] = f(x[i]) for float32; x and y may alias.
class UnaryLoop {
 public:
  explicit UnaryLoop(const graph::Unary& function);
  void operator()(const float* x, float* y, std::int64_t size) const { loop_(function_, x, y, size); }
  /// Returns whether the loop is vectorized; otherwise it calls the reference function in double for each number.
  [[nodiscard]] bool is_vectorized() const { return vectorized_; }

 private:
  using Loop = void (*)(const graph::Unary&, const float*, float*, std::int64_t);
  graph::Unary function_;
  Loop loop_;
  bool vectorized_ = true;
};

/// dx[i] = dy[i]·f'(x[i]) for float32; arrays may alias.
class SlopeLoop {
 public:
  explicit SlopeLoop(const graph::Unary& function);
  void operator()(const float* x, const float* dy, float* dx, std::int64_t size) const {
    loop_(function_, x, dy, dx, size);
  }
  [[nodiscard]] bool is_vectorized() const { return vectorized_; }

 private:
  using Loop = void (*)(const graph::Unary&, const float*, const float*, float*, std::int64_t);
  graph::Unary function_;
  Loop loop_;
  bool vectorized_ = true;
};

/// oneDNN's activation that equals Keras's, also for NaN. At infinities its gelu may give NaN where Keras's does not.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0.0F, beta = 0.0F;
};

/// Returns oneDNN's activation for the function; empty if it differs. Its relu, clip and exponential turn NaN into a
/// number, its elu is inaccurate near 0, and its gelu is not accurate enough.
[[nodiscard]] std::optional<Eltwise> eltwise_of(const graph::Unary& function);

}  // namespace attn::backends::cpu
