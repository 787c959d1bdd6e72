// z = activation(x·y + bias) + residual of matrices that all change between runs, as weights do in training.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel.h"
#include "panels.h"
#include "parallel.h"
#include "product.h"

namespace attn::backends::cpu {

/// The product of op(x) (rows, depth) and op(y) (depth, width).
struct MovingSize {
  std::int64_t rows, depth, width;
  bool transpose_x = false;  ///< x is stored as (depth, rows)
  bool transpose_y = false;  ///< y is stored as (width, depth)
};

/// y is packed into panels in the scratch that kernels share, a part of the depth and of the columns at a time, and
/// blocks of rows of x, laid out in rows where they are not, pass over them (Goto and van de Geijn, Anatomy of
/// high-performance matrix multiplication, 2008). Sums are the same for any number of threads.
class MovingProduct {
 public:
  /// All sizes are at least 1.
  MovingProduct(Engine& engine, const MovingSize& size, const graph::Unary& activation = {}, bool residual = false);

  /// `bias` (width) may be null, and `residual` (rows, width) is read where it was announced; z is none of the others.
  void run(const float* x, const float* y, const float* bias, const float* residual, float* z);
  [[nodiscard]] static std::string_view name() { return "panels, packed in each run"; }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(start_.size() * sizeof(float)); }

  /// What it takes of the scratch, and what else it keeps; at most kMaxSize.
  [[nodiscard]] static std::int64_t scratch_bytes(const MovingSize& size, int threads);
  [[nodiscard]] static std::int64_t held_bytes(const MovingSize& size);

 private:
  /// Parts [k, k + depth) of the depth and panels [first, last).
  struct Part {
    std::int64_t k, depth, first, last;
    [[nodiscard]] bool begins() const { return k == 0; }
  };
  struct Operands {
    const float *x, *y, *residual;
    float* z;
  };

  void pack(const Part& part, const float* y, std::int64_t panel, float* to) const;
  void run_part(const Part& part, const Operands& on, bool biased);
  void run_piece(const Part& part, std::int64_t piece, int thread, const Operands& on, bool biased);
  void lay_out(const Part& part, std::int64_t first, std::int64_t rows, const float* x, float* to) const;

  Engine& engine_;
  MovingSize size_;
  bool is_relu_, adds_residual_;  // as sums are written
  bool packs_together_;           // panels, before blocks pass over them; else each piece packs its own
  Finish finish_;                 // what else follows, over a piece
  Team team_;
  std::int64_t panels_, depths_, blocks_, groups_ = 1;
  std::int64_t most_depth_, most_rows_, most_panels_;
  std::vector<float> start_;            // the bias, padded
  std::vector<std::int64_t> laid_out_;  // by thread, which block is, or -1
};

/// The memory of such a product.
template <typename Moving>
[[nodiscard]] Needs needs_of_moving(const MovingSize& size, int threads) {
  Needs needs;
  needs.held = Moving::held_bytes(size);
  needs.scratch = Moving::scratch_bytes(size, threads);
  return needs;
}

}  // namespace attn::backends::cpu
