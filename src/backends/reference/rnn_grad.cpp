// Backpropagation through time: one sample after the other, one step after the other.
#include "attn/base/stop.h"
#include "numbers.h"
#include "rnn.h"

namespace attn::backends::reference {
namespace {

using graph::RnnCell;

/// The intermediate results of one step, with its initial states.
struct StepTrace {
  std::size_t t = 0;
  bool counts = true;
  Vector h, c;       // states before the step
  Vector input;      // (g·U) x·kernel + bias; simple and lstm: plus h·recurrent kernel
  Vector recurrent;  // gru: (g·U) h·recurrent kernel + its bias
  Vector candidate;  // gru: (U) pre-activation of the candidate
  Vector cell;       // lstm: (U) c after the step
};

/// sums[k] += Σ_m g[m]·kernel[k, first + m]: the backward pass of a product.
void add_back(std::span<double> sums, std::span<const double> g, const Vector& kernel, std::size_t width,
              std::size_t first) {
  for (std::size_t k = 0; k < sums.size(); ++k) {
    for (std::size_t m = 0; m < g.size(); ++m) sums[k] += g[m] * kernel[k * width + first + m];
  }
}

/// dkernel[k, first + m] += x[k]·g[m]
void add_outer(Vector& dkernel, std::span<const double> x, std::span<const double> g, std::size_t width,
               std::size_t first) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t m = 0; m < g.size(); ++m) dkernel[k * width + first + m] += x[k] * g[m];
  }
}

class RnnBackward {
 public:
  RnnBackward(const graph::Rnn& op, Tensors in, Tensors gradients)
      : given_(op, in), cell_(given_.cell), units_(cell_.units), width_(cell_.width()) {
    doutputs_ = read<double>(gradients[0]);
    for (const Tensor& final : gradients.subspan(1)) dfinals_.push_back(read<double>(final));
    dx_.resize(given_.x.size());
    dkernel_.resize(cell_.kernel.size());
    drecurrent_.resize(cell_.recurrent_kernel.size());
    dbias_.resize(cell_.bias.size());
  }

  void run(Tensors out) {
    std::vector<Vector> dinitial(given_.initial.size());
    for (std::size_t b = 0; b < given_.batch; ++b) {
      const std::vector<Vector> dstates = sample(b);
      for (std::size_t s = 0; s < dinitial.size(); ++s)
        dinitial[s].insert(dinitial[s].end(), dstates[s].begin(), dstates[s].end());
    }
    std::size_t next = 0;
    write(out[next++], dx_);
    write(out[next++], dkernel_);
    write(out[next++], drecurrent_);
    if (cell_.op.bias) write(out[next++], dbias_);
    if (!cell_.op.initial_state) return;
    for (const Vector& state : dinitial) write(out[next++], state);
  }

 private:
  /// Computes one sample and returns the gradients of its initial states.
  std::vector<Vector> sample(std::size_t b) {
    const std::vector<StepTrace> kept = forward(b);
    std::vector<Vector> dstates(given_.initial.size(), Vector(units_, 0.0));
    for (std::size_t s = 0; s < dfinals_.size(); ++s)
      for (std::size_t u = 0; u < units_; ++u) dstates[s][u] = dfinals_[s][b * units_ + u];
    Vector pending(units_, 0.0);  // gradient of outputs that repeat an earlier step's output
    const bool sequences = cell_.op.return_sequences;
    for (std::size_t i = kept.size(); i-- > 0;) {
      throw_if_stopped();
      if (sequences || i + 1 == kept.size()) {
        if (kept[i].counts || !cell_.op.zero_output_for_mask) {
          const std::size_t first = (sequences ? b * given_.steps + i : b) * units_;
          for (std::size_t u = 0; u < units_; ++u) pending[u] += doutputs_[first + u];
        }
      }
      if (!kept[i].counts) continue;
      for (std::size_t u = 0; u < units_; ++u) dstates[0][u] += pending[u];
      pending.assign(units_, 0.0);
      back(b, kept[i], dstates);
    }
    return dstates;
  }

  std::vector<StepTrace> forward(std::size_t b) const {
    std::vector<Vector> states = given_.initial_states(b);
    std::vector<StepTrace> kept;
    for (std::size_t i = 0; i < given_.steps; ++i) {
      throw_if_stopped();
      StepTrace step;
      step.t = given_.time(i);
      step.counts = given_.counts(b, step.t);
      if (step.counts) advance(given_.at(b, step.t), states, step);
      kept.push_back(std::move(step));
    }
    return kept;
  }

  void advance(std::span<const double> x, std::vector<Vector>& states, StepTrace& kept) const {
    Vector& h = states[0];
    kept.h = h;
    kept.input = cell_.input_part(x);
    if (cell_.op.cell == RnnCell::gru) return advance_gru(h, kept);
    add_product(kept.input, h, cell_.recurrent_kernel, width_, 0);
    if (cell_.op.cell == RnnCell::simple) {
      for (std::size_t u = 0; u < units_; ++u) h[u] = cell_.act(kept.input[u]);
      return;
    }
    kept.c = states[1];
    for (std::size_t u = 0; u < units_; ++u) {
      const auto gate = [&](std::size_t g) { return cell_.gate(kept.input[g * units_ + u]); };
      states[1][u] = gate(1) * states[1][u] + gate(0) * cell_.act(kept.input[2 * units_ + u]);
      h[u] = gate(3) * cell_.act(states[1][u]);
    }
    kept.cell = states[1];
  }

  void advance_gru(Vector& h, StepTrace& kept) const {
    const bool after = cell_.op.reset_after;
    kept.recurrent.resize(width_);
    add_product(std::span(kept.recurrent).first(after ? width_ : 2 * units_), h, cell_.recurrent_kernel, width_, 0);
    if (after) cell_.add_bias(kept.recurrent, width_);
    kept.candidate.assign(kept.input.end() - static_cast<std::ptrdiff_t>(units_), kept.input.end());
    Vector reset_h(units_);
    for (std::size_t u = 0; u < units_; ++u) {
      const double reset = gate_of(kept, 1, u);
      if (after) {
        kept.candidate[u] += reset * kept.recurrent[2 * units_ + u];
      } else {
        reset_h[u] = reset * h[u];
      }
    }
    if (!after) add_product(kept.candidate, reset_h, cell_.recurrent_kernel, width_, 2 * units_);
    for (std::size_t u = 0; u < units_; ++u) {
      const double update = gate_of(kept, 0, u);
      h[u] = update * h[u] + (1.0 - update) * cell_.act(kept.candidate[u]);
    }
  }

  /// Returns the pre-activation of gate g of a GRU.
  [[nodiscard]] double before_gate(const StepTrace& kept, std::size_t g, std::size_t u) const {
    return kept.input[g * units_ + u] + kept.recurrent[g * units_ + u];
  }
  [[nodiscard]] double gate_of(const StepTrace& kept, std::size_t g, std::size_t u) const {
    return cell_.gate(before_gate(kept, g, u));
  }
  [[nodiscard]] double act_slope(double x) const { return derivative(cell_.op.activation, x); }
  [[nodiscard]] double gate_slope(double x) const { return derivative(cell_.op.recurrent_activation, x); }

  /// Computes the gradients of the states before a step from those after it.
  void back(std::size_t b, const StepTrace& kept, std::vector<Vector>& dstates) {
    Vector& dh = dstates[0];
    Vector dinput(width_), drecurrent;
    Vector dh_before(units_, 0.0);
    switch (cell_.op.cell) {
      case RnnCell::simple:
        for (std::size_t u = 0; u < units_; ++u) dinput[u] = dh[u] * act_slope(kept.input[u]);
        break;
      case RnnCell::lstm:
        back_lstm(kept, dh, dstates[1], dinput);
        break;
      case RnnCell::gru:
        drecurrent.resize(width_);
        back_gru(kept, dh, dh_before, dinput, drecurrent);
        break;
    }
    // A GRU with reset_after=false has already propagated the candidate's gradient.
    const bool gru = cell_.op.cell == RnnCell::gru, before = gru && !cell_.op.reset_after;
    const std::span<const double> to_h = std::span(gru ? drecurrent : dinput).first(before ? 2 * units_ : width_);
    add_back(dh_before, to_h, cell_.recurrent_kernel, width_, 0);
    add_outer(drecurrent_, kept.h, to_h, width_, 0);
    const std::span<const double> x = given_.at(b, kept.t);
    add_outer(dkernel_, x, dinput, width_, 0);
    add_back(std::span(dx_).subspan((b * given_.steps + kept.t) * given_.depth, given_.depth), dinput, cell_.kernel,
             width_, 0);
    if (cell_.op.bias) {
      for (std::size_t m = 0; m < width_; ++m) dbias_[m] += dinput[m];
      if (gru && !before)
        for (std::size_t m = 0; m < width_; ++m) dbias_[width_ + m] += drecurrent[m];
    }
    dh = std::move(dh_before);
  }

  void back_lstm(const StepTrace& kept, const Vector& dh, Vector& dc, Vector& dinput) const {
    for (std::size_t u = 0; u < units_; ++u) {
      const auto z = [&](std::size_t g) { return kept.input[g * units_ + u]; };
      const double input = cell_.gate(z(0)), forget = cell_.gate(z(1)), output = cell_.gate(z(3));
      const double d = dc[u] + dh[u] * output * act_slope(kept.cell[u]);
      dinput[u] = d * cell_.act(z(2)) * gate_slope(z(0));
      dinput[units_ + u] = d * kept.c[u] * gate_slope(z(1));
      dinput[2 * units_ + u] = d * input * act_slope(z(2));
      dinput[3 * units_ + u] = dh[u] * cell_.act(kept.cell[u]) * gate_slope(z(3));
      dc[u] = d * forget;
    }
  }

  void back_gru(const StepTrace& kept, const Vector& dh, Vector& dh_before, Vector& dinput, Vector& drecurrent) {
    const std::size_t last = 2 * units_;
    Vector dreset(units_, 0.0);
    for (std::size_t u = 0; u < units_; ++u) {
      const double update = gate_of(kept, 0, u);
      dh_before[u] = dh[u] * update;
      const double dupdate = dh[u] * (kept.h[u] - cell_.act(kept.candidate[u]));
      dinput[u] = drecurrent[u] = dupdate * gate_slope(before_gate(kept, 0, u));
      dinput[last + u] = dh[u] * (1.0 - update) * act_slope(kept.candidate[u]);
    }
    const std::span<const double> dcandidate = std::span(dinput).subspan(last);
    if (cell_.op.reset_after) {
      for (std::size_t u = 0; u < units_; ++u) {
        dreset[u] = dcandidate[u] * kept.recurrent[last + u];
        drecurrent[last + u] = dcandidate[u] * gate_of(kept, 1, u);
      }
    } else {
      Vector dreset_h(units_, 0.0), reset_h(units_);
      add_back(dreset_h, dcandidate, cell_.recurrent_kernel, width_, last);
      for (std::size_t u = 0; u < units_; ++u) {
        const double reset = gate_of(kept, 1, u);
        reset_h[u] = reset * kept.h[u];
        dreset[u] = dreset_h[u] * kept.h[u];
        dh_before[u] += dreset_h[u] * reset;
      }
      add_outer(drecurrent_, reset_h, dcandidate, width_, last);
    }
    for (std::size_t u = 0; u < units_; ++u)
      dinput[units_ + u] = drecurrent[units_ + u] = dreset[u] * gate_slope(before_gate(kept, 1, u));
  }

  RnnInputs given_;
  const Cell& cell_;
  std::size_t units_, width_;
  Vector doutputs_;              // (B,T,U) or (B,U)
  std::vector<Vector> dfinals_;  // (B,U) for each state, or none
  Vector dx_, dkernel_, drecurrent_, dbias_;
};

}  // namespace

void compute(const graph::RnnGrad& op, Tensors in, Tensors out) {
  const graph::Rnn& forward = op.forward;
  const std::size_t states = forward.cell == RnnCell::lstm ? 2 : 1;
  const std::size_t gradients = forward.return_state ? 1 + states : 1;
  RnnBackward(forward, in.first(in.size() - gradients), in.last(gradients)).run(out);
}

}  // namespace attn::backends::reference
