// Products of two bfloat16 matrices that change between runs, by dot products of pairs (VDPBF16PS).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dynamic_gemm.h"

namespace attn::backends::cpu {

/// Returns the reason why this method is not used, or "".
[[nodiscard]] std::string why_not_dynamic_gemm_bfloat16(DType dtype, const Multiplication& multiplication);

/// DynamicGemm for bfloat16, with float32 accumulators over the whole depth. Bias, activation and residual are added
/// before the result is rounded once.
class DynamicGemmBfloat16 {
 public:
  DynamicGemmBfloat16(Engine& engine, const DynamicGemmSize& size, const graph::Unary& activation = {},
                      bool residual = false);

  using Number = std::uint16_t;
  /// `bias` (width) may be null. `residual` (rows, width) is read if the constructor declared it. z must not alias an
  /// operand.
  void run(const Number* x, const Number* y, const Number* bias, const Number* residual, Number* z);
  [[nodiscard]] static std::string_view name() { return "dot products of bfloat16, packed in each run"; }
  [[nodiscard]] static std::int64_t bytes() { return 0; }
  [[nodiscard]] static std::int64_t held_bytes(const DynamicGemmSize&) { return 0; }
  [[nodiscard]] static std::int64_t scratch_bytes(const DynamicGemmSize& size, int threads);

 private:
  struct Operands {
    const Number *x, *y, *bias, *residual;
    Number* z;
  };
  void pack(const Number* y, std::int64_t panel, Number* to) const;
  void run_piece(std::int64_t piece, int thread, std::int64_t begin, std::int64_t end, const Operands& on);
  void lay_out(std::int64_t first, std::int64_t rows, const Number* x, Number* to) const;
  void write(const float* sums, std::int64_t first, std::int64_t rows, std::int64_t column, const Operands& on) const;

  Engine& engine_;
  DynamicGemmSize size_;
  Finish finish_;
  Team team_;
  std::int64_t panels_, blocks_, groups_ = 1, most_panels_;
  std::vector<std::int64_t> laid_out_;  // the packed block of each thread, or -1
};

}  // namespace attn::backends::cpu
