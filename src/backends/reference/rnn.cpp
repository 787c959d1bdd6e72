// Recurrent layers: one sample after the other, one step after the other.
#include "rnn.h"

#include "attn/base/stop.h"
#include "numbers.h"

namespace attn::backends::reference {

using graph::RnnCell;

std::size_t gates_of(RnnCell cell) {
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

void add_product(std::span<double> sums, std::span<const double> x, const Vector& kernel, std::size_t width,
                 std::size_t first) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t m = 0; m < sums.size(); ++m) sums[m] += x[k] * kernel[k * width + first + m];
  }
}

void Cell::add_bias(Vector& sums, std::size_t first) const {
  if (!op.bias) return;
  for (std::size_t m = 0; m < width(); ++m) sums[m] += bias[first + m];
}

Vector Cell::input_part(std::span<const double> x) const {
  Vector sums(width());
  add_product(sums, x, kernel, width(), 0);
  add_bias(sums, 0);
  return sums;
}

RnnInputs::RnnInputs(const graph::Rnn& op, Tensors in)
    : batch(static_cast<std::size_t>(in[0].shape()[0])),
      steps(static_cast<std::size_t>(in[0].shape()[1])),
      depth(static_cast<std::size_t>(in[0].shape()[2])),
      x(read<double>(in[0])),
      cell{op, static_cast<std::size_t>(in[2].shape()[0]), read<double>(in[1]), read<double>(in[2]),
           op.bias ? read<double>(in[3]) : Vector{}} {
  std::size_t next = op.bias ? 4 : 3;
  mask = op.mask ? read<double>(in[next++]) : Vector(batch * steps, 1.0);
  const std::size_t states = op.cell == RnnCell::lstm ? 2 : 1;
  for (std::size_t s = 0; s < states; ++s)
    initial.push_back(op.initial_state ? read<double>(in[next++]) : Vector(batch * cell.units, 0.0));
}

std::vector<Vector> RnnInputs::initial_states(std::size_t b) const {
  std::vector<Vector> states;
  for (const Vector& state : initial) {
    const auto first = state.begin() + static_cast<std::ptrdiff_t>(b * cell.units);
    states.emplace_back(first, first + static_cast<std::ptrdiff_t>(cell.units));
  }
  return states;
}

namespace {

/// Computes one step: (input, states) → states. State 0 is the output h.
struct Step : Cell {
  void simple(std::span<const double> x, Vector& h) const {
    Vector z = input_part(x);
    add_product(z, h, recurrent_kernel, width(), 0);
    for (std::size_t u = 0; u < units; ++u) h[u] = act(z[u]);
  }

  void lstm(std::span<const double> x, Vector& h, Vector& c) const {
    Vector z = input_part(x);  // gates i, f, c, o
    add_product(z, h, recurrent_kernel, width(), 0);
    for (std::size_t u = 0; u < units; ++u) {
      const double input = gate(z[u]), forget = gate(z[units + u]), output = gate(z[3 * units + u]);
      c[u] = forget * c[u] + input * act(z[2 * units + u]);
      h[u] = output * act(c[u]);
    }
  }

  void gru(std::span<const double> x, Vector& h) const {
    const Vector z = input_part(x);  // gates z and r, candidate h
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
  const RnnInputs given(op, in);
  const Step cell{given.cell};
  Vector outputs;                                    // (B,T,U) or (B,U)
  std::vector<Vector> finals(given.initial.size());  // (B,U) for each state
  for (std::size_t b = 0; b < given.batch; ++b) {
    std::vector<Vector> states = given.initial_states(b);
    Vector output(cell.units, 0.0);
    for (std::size_t i = 0; i < given.steps; ++i) {
      throw_if_stopped();
      const std::size_t t = given.time(i);
      if (given.counts(b, t)) {
        cell.step(given.at(b, t), states);
        output = states[0];
      } else if (op.zero_output_for_mask) {
        output.assign(cell.units, 0.0);
      }
      if (op.return_sequences) outputs.insert(outputs.end(), output.begin(), output.end());
    }
    if (!op.return_sequences) outputs.insert(outputs.end(), output.begin(), output.end());
    for (std::size_t s = 0; s < finals.size(); ++s)
      finals[s].insert(finals[s].end(), states[s].begin(), states[s].end());
  }
  write(out[0], outputs);
  if (op.return_state) {
    for (std::size_t s = 0; s < finals.size(); ++s) write(out[1 + s], finals[s]);
  }
}

}  // namespace attn::backends::reference
