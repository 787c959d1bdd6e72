// A recurrent layer whose weights change between runs, with all that the way back needs of the way there.
#pragma once

#include <memory>
#include <vector>

#include "kernel.h"
#include "moving_product.h"
#include "unary.h"

namespace attn::backends::cpu {

/// A matrix (depth, width) that is packed once a run and multiplied by many others, in several threads at once.
class HeldPanels {
 public:
  HeldPanels(std::int64_t depth, std::int64_t width);
  void pack(const View& numbers);
  /// z (rows, width), `stride` numbers apart, = x·matrix, or that is added to it.
  void multiply(const View& x, std::int64_t rows, float* z, std::int64_t stride, bool adds) const;
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(panels_.size() * sizeof(float)); }
  [[nodiscard]] static std::int64_t numbers_of(std::int64_t depth, std::int64_t width);

 private:
  std::int64_t depth_, width_;
  std::vector<float> panels_;
};

/// B batch, T steps, D input width, U units, W = g·U of the gates side by side.
struct RnnSize {
  RnnSize(const graph::Rnn& op, const StepInfo& step);
  std::int64_t B, T, D, U, W;
  /// The samples go through the steps in parts, of which each is one thread's.
  [[nodiscard]] std::int64_t parts(int threads) const;
};

/// The way there, for a step whose first inputs are those of `op`.
class RnnTrace {
 public:
  RnnTrace(const Step& step, const graph::Rnn& op);

  /// The trace of a step that comes before this one, reads the same and is the same layer; else null.
  [[nodiscard]] static std::shared_ptr<RnnTrace> find(const Step& step, const graph::Rnn& op);
  /// A new one, which others find for as long as it lives.
  [[nodiscard]] static std::shared_ptr<RnnTrace> make(const Step& step, const graph::Rnn& op);
  /// Will there be one to find? Known before anything is made.
  [[nodiscard]] static bool is_left(const StepInfo& step, const graph::Rnn& op);

  /// Float32 numbers that it holds.
  [[nodiscard]] static std::int64_t numbers_of(const graph::Rnn& op, const RnnSize& size);
  [[nodiscard]] static std::int64_t scratch_bytes(const RnnSize& size, int threads);
  [[nodiscard]] static std::string why_not(const graph::Rnn& op);
  [[nodiscard]] std::int64_t bytes() const;

  /// All steps. `f(part, i)` follows step i of a part, in its thread.
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
  /// The time of the i-th step that the layer takes.
  [[nodiscard]] std::int64_t time(std::int64_t i) const { return op.go_backwards ? size.T - 1 - i : i; }
  [[nodiscard]] bool counts(std::int64_t b, std::int64_t t) const {
    return !op.mask || mask_.data<std::uint8_t>()[b * size.T + t] != 0;
  }
  /// Row (b, t) of an array (B,T,columns).
  [[nodiscard]] float* row(std::vector<float>& array, std::int64_t b, std::int64_t t, std::int64_t columns) const {
    return array.data() + (b * size.T + t) * columns;
  }

  graph::Rnn op;
  RnnSize size;
  std::int64_t parts;
  Team team;
  std::vector<std::vector<float>> states;          // (B,U) of h, and of c
  std::vector<float> before, gates;                // (B,T,W): what gates are taken of, and gates
  std::vector<float> h_before, c_before, c_after;  // (B,T,U), the last two of an lstm
  std::vector<float> product;                      // (B,T,W) of a gru: h·recurrent + its bias

 private:
  void begin();
  void advance(std::int64_t part, std::int64_t t);
  void advance_gru(std::int64_t b, std::int64_t t);

  Operand x_, kernel_, recurrent_, bias_, mask_;
  std::vector<Operand> initial_;
  UnaryLoop activation_, gate_;
  MovingProduct input_;
  HeldPanels panels_;
};

}  // namespace attn::backends::cpu
