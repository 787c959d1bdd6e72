// The forward pass of a recurrent layer whose weights change between runs. It keeps the data for the backward pass.
#pragma once

#include <memory>
#include <vector>

#include "gemm/dynamic_gemm.h"
#include "kernel.h"
#include "operations/unary.h"

namespace attn::backends::cpu {

/// A matrix (depth, width) that is packed once per run. It is then multiplied by many matrices, from several threads at
/// once.
class HeldPanels {
 public:
  HeldPanels(std::int64_t depth, std::int64_t width);
  void pack(const View& numbers);
  /// Computes z = x·matrix for z (rows, width) with row stride `stride`; with `adds`, adds the product to z.
  void multiply(const View& x, std::int64_t rows, float* z, std::int64_t stride, bool adds) const;
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(panels_.size() * sizeof(float)); }
  [[nodiscard]] static std::int64_t numbers_of(std::int64_t depth, std::int64_t width);

 private:
  std::int64_t depth_, width_;
  std::vector<float> panels_;
};

/// B batch, T steps, D input width, U units, W = g·U columns of the concatenated gates.
struct RnnSize {
  RnnSize(const graph::Rnn& op, const StepInfo& step);
  std::int64_t B, T, D, U, W;
  /// Returns the number of parts that the samples are split into; a part is processed by one thread.
  [[nodiscard]] std::int64_t parts(int threads) const;
};

/// The forward pass of a step that begins with the inputs of `op`.
class RnnTrace {
 public:
  RnnTrace(const Step& step, const graph::Rnn& op);

  /// Returns the trace of an earlier step of the same layer with the same inputs; otherwise null.
  [[nodiscard]] static std::shared_ptr<RnnTrace> find(const Step& step, const graph::Rnn& op);
  /// Makes a new trace, which find() returns as long as it exists.
  [[nodiscard]] static std::shared_ptr<RnnTrace> make(const Step& step, const graph::Rnn& op);
  /// Returns whether there will be a trace to find; known before any kernel is made.
  [[nodiscard]] static bool has_trace(const StepInfo& step, const graph::Rnn& op);

  /// Returns how many floats a trace holds.
  [[nodiscard]] static std::int64_t numbers_of(const graph::Rnn& op, const RnnSize& size);
  [[nodiscard]] static std::int64_t scratch_bytes(const RnnSize& size, int threads);
  [[nodiscard]] static std::string why_not(const graph::Rnn& op);
  [[nodiscard]] std::int64_t bytes() const;

  /// Runs all steps, and calls `f(part, i)` after step i of a part, in the part's thread.
  template <typename Function>
  void run(Function&& f) {
    begin();
    parallel_for(parts, team, [&](std::int64_t part, int) {
      for (std::int64_t i = 0; i < size.T; ++i) {
        advance(part, time(i));
        f(part, i);
      }
    });
  }

  [[nodiscard]] std::int64_t first_of(std::int64_t part) const { return size.B * part / parts; }
  /// Returns the time index of the layer's i-th step.
  [[nodiscard]] std::int64_t time(std::int64_t i) const { return op.go_backwards ? size.T - 1 - i : i; }
  [[nodiscard]] bool counts(std::int64_t b, std::int64_t t) const {
    return !op.mask || mask_.data<std::uint8_t>()[b * size.T + t] != 0;
  }
  /// Returns row (b, t) of an array (B,T,columns).
  [[nodiscard]] float* row(std::vector<float>& array, std::int64_t b, std::int64_t t, std::int64_t columns) const {
    return array.data() + (b * size.T + t) * columns;
  }

  graph::Rnn op;
  RnnSize size;
  std::int64_t parts;
  Team team;
  std::vector<std::vector<float>> states;          // (B,U) of h; for an LSTM also of c
  std::vector<float> before, gates;                // (B,T,W): pre-activations and gates
  std::vector<float> h_before, c_before, c_after;  // (B,T,U); c_before and c_after only for an LSTM
  std::vector<float> product;                      // (B,T,W), only for a GRU: h·recurrent kernel + its bias

 private:
  void begin();
  void advance(std::int64_t part, std::int64_t t);
  void advance_gru(std::int64_t b, std::int64_t t);

  Operand x_, kernel_, recurrent_, bias_, mask_;
  std::vector<Operand> initial_;
  UnaryLoop activation_, gate_;
  DynamicGemm input_;
  HeldPanels panels_;
};

}  // namespace attn::backends::cpu
