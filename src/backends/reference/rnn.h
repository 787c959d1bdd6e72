// The common part of a recurrent layer and its gradient.
//
// B batch, T steps, D input width, U units, g gates concatenated in every kernel: (D, g·U), (U, g·U).
#pragma once

#include <span>
#include <vector>

#include "attn/backends/reference.h"
#include "kernels.h"

namespace attn::backends::reference {

using Vector = std::vector<double>;

/// Returns 4 for an LSTM, 3 for a GRU, and 1 for a simple cell.
[[nodiscard]] std::size_t gates_of(graph::RnnCell cell);

/// sums[m] += Σ x[k]·kernel[k, first + m]; `width` is the kernel's number of columns.
void add_product(std::span<double> sums, std::span<const double> x, const Vector& kernel, std::size_t width,
                 std::size_t first);

/// The weights of a layer.
struct Cell {
  const graph::Rnn& op;
  std::size_t units;
  Vector kernel, recurrent_kernel, bias;  // bias: (g·U), (2, g·U) for gru with reset_after, or empty

  [[nodiscard]] double act(double x) const { return apply(op.activation, x); }
  [[nodiscard]] double gate(double x) const { return apply(op.recurrent_activation, x); }
  [[nodiscard]] std::size_t width() const { return units * gates_of(op.cell); }

  /// Adds the biases of all gates, which begin at `first`.
  void add_bias(Vector& sums, std::size_t first) const;
  /// Returns x·kernel + input bias, for all gates.
  [[nodiscard]] Vector input_part(std::span<const double> x) const;
};

/// The inputs of a layer as vectors.
struct RnnInputs {
  RnnInputs(const graph::Rnn& op, Tensors in);

  std::size_t batch, steps, depth;
  Vector x;  // (B,T,D)
  Cell cell;
  Vector mask;                  // (B,T), 1 everywhere if there is no mask
  std::vector<Vector> initial;  // (B,U) for each state: the output h, and c of an LSTM

  /// Returns the time index of the layer's i-th step.
  [[nodiscard]] std::size_t time(std::size_t i) const { return cell.op.go_backwards ? steps - 1 - i : i; }
  [[nodiscard]] bool counts(std::size_t b, std::size_t t) const { return mask[b * steps + t] != 0.0; }
  [[nodiscard]] std::span<const double> at(std::size_t b, std::size_t t) const {
    return std::span(x).subspan((b * steps + t) * depth, depth);
  }
  [[nodiscard]] std::vector<Vector> initial_states(std::size_t b) const;
};

}  // namespace attn::backends::reference
