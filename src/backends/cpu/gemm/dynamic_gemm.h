// z = activation(x·y + bias) + residual for matrices that all change between runs, such as weights in training.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel.h"
#include "panels.h"
#include "parallel.h"
#include "product.h"

namespace attn::backends::cpu {

/// The sizes of op(x) (rows, depth) · op(y) (depth, width).
struct DynamicGemmSize {
  std::int64_t rows, depth, width;
  bool transpose_x = false;  ///< x is stored as (depth, rows)
  bool transpose_y = false;  ///< y is stored as (width, depth)
};

/// Packs y into panels in shared scratch memory, one section of the depth and of the columns at a time. Blocks of rows
/// of x are then multiplied by the panels (Goto and van de Geijn, Anatomy of high-performance matrix multiplication,
/// 2008). A block is packed if its rows are not contiguous. Sums do not depend on the number of threads.
class DynamicGemm {
 public:
  /// All sizes are at least 1.
  DynamicGemm(Engine& engine, const DynamicGemmSize& size, const graph::Unary& activation = {}, bool residual = false);

  /// `bias` (width) may be null. `residual` (rows, width) is read if the constructor declared it. z must not alias an
  /// operand.
  void run(const float* x, const float* y, const float* bias, const float* residual, float* z);
  [[nodiscard]] static std::string_view name() { return "panels, packed in each run"; }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(start_.size() * sizeof(float)); }

  /// Returns the bytes of scratch memory, at most kMaxSize.
  [[nodiscard]] static std::int64_t scratch_bytes(const DynamicGemmSize& size, int threads);
  [[nodiscard]] static std::int64_t held_bytes(const DynamicGemmSize& size);

 private:
  /// The section [k, k + depth) of the depth and the panels [first, last).
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
  DynamicGemmSize size_;
  bool is_relu_, adds_residual_;  // applied in the epilogue of the micro-kernel
  bool packs_together_;  // whether panels are packed before the products; otherwise each work item packs its own
  Finish finish_;        // the rest of the epilogue, over a work item
  Team team_;
  std::int64_t panels_, depths_, blocks_, groups_ = 1;
  std::int64_t most_depth_, most_rows_, most_panels_;
  std::vector<float> start_;            // the bias, padded to whole panels
  std::vector<std::int64_t> laid_out_;  // the packed block of each thread, or -1
};

/// Returns the needs of a kernel with such a product.
template <typename Gemm>
[[nodiscard]] MemoryNeeds needs_of_dynamic_gemm(const DynamicGemmSize& size, int threads) {
  MemoryNeeds needs;
  needs.held = Gemm::held_bytes(size);
  needs.scratch = Gemm::scratch_bytes(size, threads);
  return needs;
}

}  // namespace attn::backends::cpu
