#include "rnn_trace.h"

#include <algorithm>

#include "attn/plan/bytes.h"
#include "operations/loops.h"

namespace attn::backends::cpu {
namespace {

using graph::RnnCell;

constexpr std::int64_t kLeastSamples = 8, kPartsPerThread = 2;

std::int64_t gates_of(RnnCell cell) { return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1; }

std::size_t inputs_of(const graph::Rnn& op) {
  const std::size_t states = op.cell == RnnCell::lstm ? 2 : 1;
  return 3 + (op.bias ? 1 : 0) + (op.mask ? 1 : 0) + (op.initial_state ? states : 0);
}

bool is_same_layer(const graph::Rnn& a, const graph::Rnn& b) {
  return a.cell == b.cell && a.go_backwards == b.go_backwards && a.mask == b.mask && a.reset_after == b.reset_after &&
         a.activation.fn == b.activation.fn && a.recurrent_activation.fn == b.recurrent_activation.fn;
}

StepKey key_of_layer(const StepInfo& step, const graph::Rnn& op) {
  const auto& inputs = step.node.inputs;
  return {&step.graph, {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(inputs_of(op))}};
}

std::vector<float> zeros(std::int64_t size) { return std::vector<float>(static_cast<std::size_t>(size)); }

}  // namespace

HeldPanels::HeldPanels(std::int64_t depth, std::int64_t width)
    : depth_(depth), width_(width), panels_(static_cast<std::size_t>(numbers_of(depth, width))) {}

std::int64_t HeldPanels::numbers_of(std::int64_t depth, std::int64_t width) {
  return bytes_times({(width + kPanel - 1) / kPanel, kPanel, depth});
}

void HeldPanels::pack(const View& numbers) {
  for (std::int64_t j = 0; j < width_; j += kPanel) {
    pack_panel({numbers.data + j * numbers.column, numbers.row, numbers.column}, depth_, std::min(kPanel, width_ - j),
               panels_.data() + j * depth_);
  }
}

void HeldPanels::multiply(const View& x, std::int64_t rows, float* z, std::int64_t stride, bool adds) const {
  for (std::int64_t j = 0; j < width_; j += kPanel) {
    multiply_panel({.x = x,
                    .panel = panels_.data() + j * depth_,
                    .rows = rows,
                    .depth = depth_,
                    .y = z + j,
                    .stride = stride,
                    .columns = std::min(kPanel, width_ - j),
                    .adds = adds});
  }
}

RnnSize::RnnSize(const graph::Rnn& op, const StepInfo& step)
    : B(step.inputs[0].shape[0]),
      T(step.inputs[0].shape[1]),
      D(step.inputs[0].shape[2]),
      U(step.inputs[2].shape[0]),
      W(gates_of(op.cell) * U) {}

std::int64_t RnnSize::parts(int threads) const {
  return threads == 1 ? 1 : std::clamp<std::int64_t>(B / kLeastSamples, 1, kPartsPerThread * threads);
}

RnnTrace::RnnTrace(const Step& step, const graph::Rnn& rnn)
    : op(rnn),
      size(rnn, step),
      x_(step.inputs[0]),
      kernel_(step.inputs[1]),
      recurrent_(step.inputs[2]),
      activation_(rnn.activation),
      gate_(rnn.recurrent_activation),
      input_(step.engine, {size.B * size.T, size.D, size.W}),
      panels_(size.U, size.W) {
  std::size_t next = 3;
  if (op.bias) bias_ = step.inputs[next++];
  if (op.mask) mask_ = step.inputs[next++];
  const std::size_t count = op.cell == RnnCell::lstm ? 2 : 1;
  for (std::size_t s = 0; op.initial_state && s < count; ++s) initial_.push_back(step.inputs[next++]);
  team = step.engine.team_for(2.0 * static_cast<double>(size.B * size.T) * static_cast<double>(size.U * size.W));
  parts = size.parts(team.threads);
  states.assign(count, zeros(size.B * size.U));
  const std::int64_t rows = size.B * size.T;
  before = gates = zeros(rows * size.W);
  h_before = zeros(rows * size.U);
  if (op.cell == RnnCell::lstm) c_before = c_after = h_before;
  if (op.cell == RnnCell::gru) product = before;
}

std::shared_ptr<RnnTrace> RnnTrace::find(const Step& step, const graph::Rnn& op) {
  const auto found = step.engine.traces.find(key_of_layer(step, op));
  if (found == step.engine.traces.end()) return nullptr;
  std::shared_ptr<RnnTrace> trace = found->second.lock();
  return trace && is_same_layer(trace->op, op) ? trace : nullptr;
}

std::shared_ptr<RnnTrace> RnnTrace::make(const Step& step, const graph::Rnn& op) {
  auto trace = std::make_shared<RnnTrace>(step, op);
  std::erase_if(step.engine.traces, [](const auto& entry) { return entry.second.expired(); });
  step.engine.traces[key_of_layer(step, op)] = trace;
  return trace;
}

bool RnnTrace::has_trace(const StepInfo& step, const graph::Rnn& op) {
  bool moves = false;  // layers whose weights are packed once leave no trace
  for (std::size_t i = 1; i < (op.bias ? 4U : 3U); ++i) moves = moves || !step.is_fixed(i);
  const std::vector<graph::ValueId> read = key_of_layer(step, op).second;
  return moves && std::ranges::any_of(step.graph.nodes, [&](const graph::Node& node) {
           const auto* layer = std::get_if<graph::Rnn>(&node.op);
           return layer != nullptr && node.inputs == read && is_same_layer(*layer, op);
         });
}

std::int64_t RnnTrace::numbers_of(const graph::Rnn& op, const RnnSize& size) {
  const std::int64_t rows = bytes_times({size.B, size.T});
  const std::int64_t wide = op.cell == RnnCell::gru ? 3 : 2, narrow = op.cell == RnnCell::lstm ? 3 : 1;
  return plan::sum_of_bytes({bytes_times({rows, size.W, wide}), bytes_times({rows, size.U, narrow}),
                             bytes_times({size.B, size.U, 2}), HeldPanels::numbers_of(size.U, size.W)});
}

std::int64_t RnnTrace::scratch_bytes(const RnnSize& size, int threads) {
  return DynamicGemm::scratch_bytes({size.B * size.T, size.D, size.W}, threads);
}

std::string RnnTrace::why_not(const graph::Rnn& op) {
  return op.cell == RnnCell::gru && !op.reset_after ? "its reset comes before the product" : "";
}

std::int64_t RnnTrace::bytes() const {
  std::size_t numbers =
      before.size() + gates.size() + h_before.size() + c_before.size() + c_after.size() + product.size();
  for (const auto& state : states) numbers += state.size();
  return static_cast<std::int64_t>(numbers * sizeof(float)) + input_.bytes() + panels_.bytes();
}

void RnnTrace::begin() {
  for (std::size_t s = 0; s < states.size(); ++s) {
    if (op.initial_state) {
      std::copy_n(initial_[s].data<float>(), states[s].size(), states[s].begin());
    } else {
      std::ranges::fill(states[s], 0.0F);
    }
  }
  input_.run(x_.data<float>(), kernel_.data<float>(), op.bias ? bias_.data<float>() : nullptr, nullptr, before.data());
  panels_.pack({recurrent_.data<float>(), size.W, 1});
}

void RnnTrace::advance(std::int64_t part, std::int64_t t) {
  const std::int64_t begin = first_of(part), end = first_of(part + 1), U = size.U, W = size.W;
  const bool is_gru = op.cell == RnnCell::gru;
  const View h{states[0].data() + begin * U, U, 1};
  panels_.multiply(h, end - begin, row(is_gru ? product : before, begin, t, W), size.T * W, !is_gru);
  for (std::int64_t b = begin; b < end; ++b) {
    float* const state = states[0].data() + b * U;
    std::copy_n(state, U, row(h_before, b, t, U));
    if (!counts(b, t)) continue;
    if (is_gru) {
      advance_gru(b, t);
      continue;
    }
    const float* const z = row(before, b, t, W);
    if (op.cell == RnnCell::simple) {
      activation_(z, state, U);
      continue;
    }
    float* const gate = row(gates, b, t, W);  // gates i, f, c, o
    float* const c = states[1].data() + b * U;
    float* const after = row(c_after, b, t, U);
    gate_(z, gate, 2 * U);
    activation_(z + 2 * U, gate + 2 * U, U);
    gate_(z + 3 * U, gate + 3 * U, U);
    std::copy_n(c, U, row(c_before, b, t, U));
    for (std::int64_t u = 0; u < U; ++u) after[u] = gate[U + u] * c[u] + gate[u] * gate[2 * U + u];
    std::copy_n(after, U, c);
    activation_(after, state, U);
    for (std::int64_t u = 0; u < U; ++u) state[u] *= gate[3 * U + u];
  }
}

void RnnTrace::advance_gru(std::int64_t b, std::int64_t t) {
  const std::int64_t U = size.U, W = size.W;
  float* const z = row(before, b, t, W);  // pre-activations of z and r, and of the candidate h
  float* const gate = row(gates, b, t, W);
  float* const p = row(product, b, t, W);
  float* const state = states[0].data() + b * U;
  if (op.bias) add_to(p, bias_.data<float>() + W, W);
  add_to(z, p, 2 * U);
  gate_(z, gate, 2 * U);
  for (std::int64_t u = 0; u < U; ++u) z[2 * U + u] += gate[U + u] * p[2 * U + u];
  activation_(z + 2 * U, gate + 2 * U, U);
  for (std::int64_t u = 0; u < U; ++u) state[u] = gate[u] * state[u] + (1.0F - gate[u]) * gate[2 * U + u];
}

}  // namespace attn::backends::cpu
