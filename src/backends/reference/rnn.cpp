// Recurrent layers, one sample and one time step after the other.
//
// D input width, U units, g gates side by side in every kernel: (D, g·U), (U, g·U).
#include <span>

#include "attn/backends/reference.h"
#include "attn/base/stop.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

using graph::RnnCell;
using Vector = std::vector<double>;

int gates_of(RnnCell cell) {
  switch (cell) {
    case RnnCell::lstm:
      return 4;
    case RnnCell::gru:
      return 3;
    case RnnCell::simple:
      break;
  }
  return 1;
}

/// sums[m] += Σ x[k]·kernel[k, first + m], the kernel `width` wide.
void add_product(std::span<double> sums, std::span<const double> x, const Vector& kernel, std::size_t width,
                 std::size_t first) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t m = 0; m < sums.size(); ++m) sums[m] += x[k] * kernel[k * width + first + m];
  }
}

/// The weights of a layer and its step: (input, states) → states. State 0 is the output h.
struct Cell {
  const graph::Rnn& op;
  std::size_t units;
  Vector kernel, recurrent_kernel, bias;  // bias: (g·U), (2, g·U) for gru with reset_after, or empty

  [[nodiscard]] double act(double x) const { return apply(op.activation, x); }
  [[nodiscard]] double gate(double x) const { return apply(op.recurrent_activation, x); }
  [[nodiscard]] std::size_t width() const { return units * static_cast<std::size_t>(gates_of(op.cell)); }

  /// The biases from `first` on, all gates.
  void add_bias(Vector& sums, std::size_t first) const {
    if (!op.bias) return;
    for (std::size_t m = 0; m < width(); ++m) sums[m] += bias[first + m];
  }

  /// x·kernel + (input) bias, all gates.
  [[nodiscard]] Vector input_part(std::span<const double> x) const {
    Vector sums(width());
    add_product(sums, x, kernel, width(), 0);
    add_bias(sums, 0);
    return sums;
  }

  void simple(std::span<const double> x, Vector& h) const {
    Vector z = input_part(x);
    add_product(z, h, recurrent_kernel, width(), 0);
    for (std::size_t u = 0; u < units; ++u) h[u] = act(z[u]);
  }

  void lstm(std::span<const double> x, Vector& h, Vector& c) const {
    Vector z = input_part(x);  // i, f, c, o
    add_product(z, h, recurrent_kernel, width(), 0);
    for (std::size_t u = 0; u < units; ++u) {
      const double input = gate(z[u]), forget = gate(z[units + u]), output = gate(z[3 * units + u]);
      c[u] = forget * c[u] + input * act(z[2 * units + u]);
      h[u] = output * act(c[u]);
    }
  }

  void gru(std::span<const double> x, Vector& h) const {
    const Vector z = input_part(x);  // z, r, h
    Vector recurrent(width());
    const std::size_t gates_only = 2 * units;
    add_product(std::span(recurrent).first(op.reset_after ? width() : gates_only), h, recurrent_kernel, width(), 0);
    if (op.reset_after) add_bias(recurrent, width());
    Vector update(units), candidate(units), reset_h(units);
    for (std::size_t u = 0; u < units; ++u) {
      update[u] = gate(z[u] + recurrent[u]);
      const double reset = gate(z[units + u] + recurrent[units + u]);
      candidate[u] = z[gates_only + u];
      if (op.reset_after) {
        candidate[u] += reset * recurrent[gates_only + u];
      } else {
        reset_h[u] = reset * h[u];
      }
    }
    if (!op.reset_after) add_product(candidate, reset_h, recurrent_kernel, width(), gates_only);
    for (std::size_t u = 0; u < units; ++u) h[u] = update[u] * h[u] + (1.0 - update[u]) * act(candidate[u]);
  }

  void step(std::span<const double> x, std::vector<Vector>& states) const {
    switch (op.cell) {
      case RnnCell::simple:
        return simple(x, states[0]);
      case RnnCell::lstm:
        return lstm(x, states[0], states[1]);
      case RnnCell::gru:
        return gru(x, states[0]);
    }
  }
};

}  // namespace

void compute(const graph::Rnn& op, Tensors in, Tensors out) {
  const Shape& shape = in[0].shape();
  const Dim batch = shape[0], steps = shape[1], depth = shape[2];
  const auto units = static_cast<std::size_t>(in[2].shape()[0]);
  const std::size_t states_count = op.cell == RnnCell::lstm ? 2 : 1;

  const Vector x = read<double>(in[0]);  // (B,T,D)
  std::size_t next = 3;
  const Cell cell{op, units, read<double>(in[1]), read<double>(in[2]), op.bias ? read<double>(in[next++]) : Vector{}};
  const Vector mask =
      op.mask ? read<double>(in[next++]) : Vector(static_cast<std::size_t>(batch * steps), 1.0);  // (B,T)
  std::vector<Vector> initial;                                                                    // per state (B,U)
  for (std::size_t s = 0; s < states_count; ++s) {
    initial.push_back(op.initial_state ? read<double>(in[next++])
                                       : Vector(static_cast<std::size_t>(batch) * units, 0.0));
  }

  Vector outputs;                            // (B,T,U) or (B,U)
  std::vector<Vector> finals(states_count);  // per state (B,U)
  for (Dim b = 0; b < batch; ++b) {
    std::vector<Vector> states;
    for (const Vector& state : initial) {
      const auto first = state.begin() + b * static_cast<Dim>(units);
      states.emplace_back(first, first + static_cast<std::ptrdiff_t>(units));
    }
    Vector output(units, 0.0);
    for (Dim i = 0; i < steps; ++i) {
      throw_if_stopped();
      const Dim t = op.go_backwards ? steps - 1 - i : i;
      if (mask[static_cast<std::size_t>(b * steps + t)] != 0.0) {
        cell.step(
            std::span(x).subspan(static_cast<std::size_t>((b * steps + t) * depth), static_cast<std::size_t>(depth)),
            states);
        output = states[0];
      } else if (op.zero_output_for_mask) {
        output.assign(units, 0.0);
      }
      if (op.return_sequences) outputs.insert(outputs.end(), output.begin(), output.end());
    }
    if (!op.return_sequences) outputs.insert(outputs.end(), output.begin(), output.end());
    for (std::size_t s = 0; s < states_count; ++s)
      finals[s].insert(finals[s].end(), states[s].begin(), states[s].end());
  }
  write(out[0], outputs);
  if (op.return_state) {
    for (std::size_t s = 0; s < states_count; ++s) write(out[1 + s], finals[s]);
  }
}

}  // namespace attn::backends::reference
