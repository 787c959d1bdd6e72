// Recurrent layers with non-constant weights, and their gradients: backpropagation through time, with one product over
// all steps for each weight.
#include "rnn_training.h"

#include <algorithm>

#include "attn/plan/bytes.h"
#include "kernel.h"
#include "operations/loops.h"
#include "rnn_trace.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::RnnCell;

/// The layer's forward pass.
class DynamicRnn final : public Kernel {
 public:
  explicit DynamicRnn(const Step& step)
      : outputs_(step.outputs),
        trace_(RnnTrace::make(step, step.op<graph::Rnn>())),
        output_(trace_->states[0].size()) {}

  void run() override {
    std::ranges::fill(output_, 0.0F);
    trace_->run([this](std::int64_t part, std::int64_t i) { keep(part, i); });
    if (!trace_->op.return_sequences) std::ranges::copy(output_, outputs_[0].data<float>());
    for (std::size_t s = 0; trace_->op.return_state && s < trace_->states.size(); ++s)
      std::ranges::copy(trace_->states[s], outputs_[1 + s].data<float>());
  }
  [[nodiscard]] std::string_view name() const override { return "simple, weights packed in each run"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return trace_->bytes() + static_cast<std::int64_t>(output_.size() * sizeof(float));
  }

 private:
  /// Writes the i-th output of a part's samples; a masked step repeats the previous output.
  void keep(std::int64_t part, std::int64_t i) {
    const std::int64_t U = trace_->size.U, t = trace_->time(i);
    for (std::int64_t b = trace_->first_of(part); b < trace_->first_of(part + 1); ++b) {
      float* const output = output_.data() + b * U;
      if (trace_->counts(b, t)) {
        std::copy_n(trace_->states[0].data() + b * U, U, output);
      } else if (trace_->op.zero_output_for_mask) {
        std::fill_n(output, U, 0.0F);
      }
      if (trace_->op.return_sequences) std::copy_n(output, U, outputs_[0].data<float>() + (b * trace_->size.T + i) * U);
    }
  }

  std::vector<Operand> outputs_;
  std::shared_ptr<RnnTrace> trace_;
  std::vector<float> output_;  // (B,U)
};

struct BackSizes {
  explicit BackSizes(const RnnSize& size)
      : kernel{size.D, size.B * size.T, size.W, true, false},
        recurrent{size.U, size.B * size.T, size.W, true, false},
        x{size.B * size.T, size.W, size.D, false, true} {}
  DynamicGemmSize kernel, recurrent, x;
};

/// One step of an LSTM with sigmoid gates and tanh activations, for one sample.
struct LstmStep {
  /// (4,U) gates i, f, c, o; (U) c before; (U) tanh of c after; (U) gradient of h.
  const float *gates, *before, *activated, *dh;
  float *dz, *dc;  ///< (4,U) gradient of the pre-activations; (U) gradient of c after, replaced by that of c before
  std::int64_t U;
};

/// The derivatives are computed from the activations: y·(1 − y) and 1 − y², as in TensorFlow.
ATTN_VECTORIZED(void, back_through_gates, const LstmStep& step) {
  const std::int64_t U = step.U;
  for (std::int64_t u = 0; u < U; u += kLanes) {
    const std::int64_t left = U - u;
    Lanes i, f, c, o, before, activated, dh, dc;
    load_some(step.gates + u, left, i);
    load_some(step.gates + U + u, left, f);
    load_some(step.gates + 2 * U + u, left, c);
    load_some(step.gates + 3 * U + u, left, o);
    load_some(step.before + u, left, before);
    load_some(step.activated + u, left, activated);
    load_some(step.dh + u, left, dh);
    load_some(step.dc + u, left, dc);
    const Lanes d = dc + dh * o * (1.0F - activated * activated);
    store_some(d * c * (i * (1.0F - i)), left, step.dz + u);
    store_some(d * before * (f * (1.0F - f)), left, step.dz + U + u);
    store_some(d * i * (1.0F - c * c), left, step.dz + 2 * U + u);
    store_some(dh * activated * (o * (1.0F - o)), left, step.dz + 3 * U + u);
    store_some(d * f, left, step.dc + u);
  }
}

class RnnGradKernel final : public Kernel {
 public:
  explicit RnnGradKernel(const Step& step)
      : op_(step.op<graph::RnnGrad>().forward),
        outputs_(step.outputs),
        left_(RnnTrace::find(step, op_)),
        own_(left_ ? nullptr : std::make_unique<RnnTrace>(step, op_)),
        trace_(left_ ? *left_ : *own_),
        x_(step.inputs[0]),
        weights_(step.inputs[1]),
        recurrent_weights_(step.inputs[2]),
        activation_(op_.activation),
        act_slope_(op_.activation),
        gate_slope_(op_.recurrent_activation),
        panels_(trace_.size.W, trace_.size.U),
        kernel_(step.engine, BackSizes(trace_.size).kernel),
        recurrent_(step.engine, BackSizes(trace_.size).recurrent),
        input_(step.engine, BackSizes(trace_.size).x) {
    const std::size_t given = op_.return_state ? 1 + trace_.states.size() : 1;
    gradients_.assign(step.inputs.end() - static_cast<std::ptrdiff_t>(given), step.inputs.end());
    dstates_ = trace_.states;
    pending_ = scratch_ = trace_.states[0];
    dbefore_ = trace_.before;
    if (is_gru()) dproduct_ = trace_.product;
    work_.resize(static_cast<std::size_t>(trace_.parts * trace_.size.U * 2));
  }

  [[nodiscard]] static MemoryNeeds needs_of(const StepInfo& step) {
    const graph::Rnn& op = step.op<graph::RnnGrad>().forward;
    const RnnSize size(op, step);
    const BackSizes back(size);
    const bool has_trace = RnnTrace::has_trace(step, op);
    const std::int64_t rows = bytes_times({size.B, size.T}), parts = size.parts(step.machine.threads);
    const std::int64_t numbers = plan::sum_of_bytes(
        {has_trace ? 0 : RnnTrace::numbers_of(op, size), bytes_times({rows, size.W, 2}),
         bytes_times({size.B, size.U, 4}), HeldPanels::numbers_of(size.W, size.U), bytes_times({parts, size.U, 2})});
    MemoryNeeds needs;
    needs.held = plan::sum_of_bytes({bytes_times({numbers, bytes_of(DType::float32)}),
                                     has_trace ? 0 : DynamicGemm::held_bytes({rows, size.D, size.W}),
                                     DynamicGemm::held_bytes(back.kernel), DynamicGemm::held_bytes(back.recurrent),
                                     DynamicGemm::held_bytes(back.x)});
    needs.scratch = RnnTrace::scratch_bytes(size, step.machine.threads);
    for (const DynamicGemmSize& one : {back.kernel, back.recurrent, back.x})
      needs.scratch = std::max(needs.scratch, DynamicGemm::scratch_bytes(one, step.machine.threads));
    return needs;
  }

  void run() override {
    if (own_) own_->run([](std::int64_t, std::int64_t) {});
    const RnnSize& size = trace_.size;
    for (std::size_t s = 0; s < dstates_.size(); ++s) {
      if (op_.return_state) {
        std::copy_n(gradients_[1 + s].data<float>(), dstates_[s].size(), dstates_[s].begin());
      } else {
        std::ranges::fill(dstates_[s], 0.0F);
      }
    }
    std::ranges::fill(pending_, 0.0F);
    panels_.pack({recurrent_weights_.data<float>(), 1, size.W});
    parallel_for(trace_.parts, trace_.team, [&](std::int64_t part, int) {
      for (std::int64_t i = size.T; i-- > 0;) go_back(part, i);
    });
    const std::vector<float>& to_h = is_gru() ? dproduct_ : dbefore_;
    input_.run(dbefore_.data(), weights_.data<float>(), nullptr, nullptr, outputs_[0].data<float>());
    kernel_.run(x_.data<float>(), dbefore_.data(), nullptr, nullptr, outputs_[1].data<float>());
    recurrent_.run(trace_.h_before.data(), to_h.data(), nullptr, nullptr, outputs_[2].data<float>());
    std::size_t next = 3;
    if (op_.bias) sum_biases(outputs_[next++].data<float>());
    for (std::size_t s = 0; op_.initial_state && s < dstates_.size(); ++s)
      std::ranges::copy(dstates_[s], outputs_[next + s].data<float>());
  }
  [[nodiscard]] std::string_view name() const override { return "simple, a product for each step"; }
  [[nodiscard]] std::int64_t bytes() const override {
    std::size_t numbers = pending_.size() + scratch_.size() + dbefore_.size() + dproduct_.size() + work_.size();
    for (const auto& state : dstates_) numbers += state.size();
    return (own_ ? own_->bytes() : 0) + panels_.bytes() + kernel_.bytes() + recurrent_.bytes() + input_.bytes() +
           static_cast<std::int64_t>(numbers * sizeof(float));
  }

 private:
  [[nodiscard]] bool is_gru() const { return op_.cell == RnnCell::gru; }
  [[nodiscard]] bool is_usual_lstm() const {
    return op_.activation.fn == graph::UnaryFn::tanh && op_.recurrent_activation.fn == graph::UnaryFn::sigmoid;
  }

  /// Computes the gradients of the states before the i-th step from those after it.
  void go_back(std::int64_t part, std::int64_t i) {
    const std::int64_t begin = trace_.first_of(part), end = trace_.first_of(part + 1), t = trace_.time(i);
    const std::int64_t U = trace_.size.U, W = trace_.size.W, T = trace_.size.T;
    const bool sequences = op_.return_sequences;
    for (std::int64_t b = begin; b < end; ++b) {
      const bool counts = trace_.counts(b, t);
      float* const pending = pending_.data() + b * U;
      float* const dh = dstates_[0].data() + b * U;
      // A masked step repeats an earlier output, so its gradient is kept until that step.
      if ((sequences || i + 1 == T) && (counts || !op_.zero_output_for_mask))
        add_to(pending, gradients_[0].data<float>() + (sequences ? b * T + i : b) * U, U);
      if (!counts) {
        std::fill_n(trace_.row(dbefore_, b, t, W), W, 0.0F);
        if (is_gru()) std::fill_n(trace_.row(dproduct_, b, t, W), W, 0.0F);
        continue;
      }
      add_to(dh, pending, U);
      std::fill_n(pending, U, 0.0F);
      float* const work = work_.data() + part * 2 * U;
      switch (op_.cell) {
        case RnnCell::simple:
          act_slope_(trace_.row(trace_.before, b, t, W), dh, trace_.row(dbefore_, b, t, W), U);
          break;
        case RnnCell::lstm:
          back_lstm(b, t, dh, work);
          break;
        case RnnCell::gru:
          back_gru(b, t, dh, work);
          break;
      }
    }
    const View gradient{trace_.row(is_gru() ? dproduct_ : dbefore_, begin, t, W), T * W, 1};
    panels_.multiply(gradient, end - begin, scratch_.data() + begin * U, U, false);
    for (std::int64_t b = begin; b < end; ++b) {
      if (!trace_.counts(b, t)) continue;
      float* const dh = dstates_[0].data() + b * U;
      if (is_gru()) {
        add_to(dh, scratch_.data() + b * U, U);  // added to the term of the update gate
      } else {
        std::copy_n(scratch_.data() + b * U, U, dh);
      }
    }
  }

  void back_lstm(std::int64_t b, std::int64_t t, const float* dh, float* work) {
    const std::int64_t U = trace_.size.U, W = trace_.size.W;
    const float* const z = trace_.row(trace_.before, b, t, W);
    const float* const gate = trace_.row(trace_.gates, b, t, W);
    const float* const after = trace_.row(trace_.c_after, b, t, U);
    const float* const before = trace_.row(trace_.c_before, b, t, U);
    float* const dz = trace_.row(dbefore_, b, t, W);
    float* const dc = dstates_[1].data() + b * U;
    float* const activated = work + U;
    activation_(after, activated, U);
    if (is_usual_lstm()) return back_through_gates({gate, before, activated, dh, dz, dc, U});
    for (std::int64_t u = 0; u < U; ++u) work[u] = dh[u] * gate[3 * U + u];
    act_slope_(after, work, work, U);
    for (std::int64_t u = 0; u < U; ++u) {
      const float d = dc[u] + work[u];
      dz[u] = d * gate[2 * U + u];
      dz[U + u] = d * before[u];
      dz[2 * U + u] = d * gate[u];
      dz[3 * U + u] = dh[u] * activated[u];
      dc[u] = d * gate[U + u];
    }
    gate_slope_(z, dz, dz, 2 * U);
    act_slope_(z + 2 * U, dz + 2 * U, dz + 2 * U, U);
    gate_slope_(z + 3 * U, dz + 3 * U, dz + 3 * U, U);
  }

  void back_gru(std::int64_t b, std::int64_t t, float* dh, float* work) {
    const std::int64_t U = trace_.size.U, W = trace_.size.W;
    const float* const z = trace_.row(trace_.before, b, t, W);
    const float* const gate = trace_.row(trace_.gates, b, t, W);
    const float* const product = trace_.row(trace_.product, b, t, W);
    const float* const h = trace_.row(trace_.h_before, b, t, U);
    float* const dz = trace_.row(dbefore_, b, t, W);
    float* const dp = trace_.row(dproduct_, b, t, W);
    float* const dcandidate = work;
    for (std::int64_t u = 0; u < U; ++u) {
      dz[u] = dh[u] * (h[u] - gate[2 * U + u]);
      dcandidate[u] = dh[u] * (1.0F - gate[u]);
      dh[u] *= gate[u];
    }
    act_slope_(z + 2 * U, dcandidate, dz + 2 * U, U);
    for (std::int64_t u = 0; u < U; ++u) {
      dz[U + u] = dz[2 * U + u] * product[2 * U + u];
      dp[2 * U + u] = dz[2 * U + u] * gate[U + u];
    }
    gate_slope_(z, dz, dz, 2 * U);
    std::copy_n(dz, 2 * U, dp);
  }

  /// Sums the biases' gradients, a range of columns per thread. A GRU has two biases: that of the input product, then
  /// that of the state product.
  void sum_biases(float* bias) const {
    const std::int64_t W = trace_.size.W, rows = trace_.size.B * trace_.size.T;
    constexpr std::int64_t kColumns = 64;
    const auto sum = [&](const std::vector<float>& of, float* to) {
      std::fill_n(to, W, 0.0F);
      parallel_for((W + kColumns - 1) / kColumns, trace_.team, [&](std::int64_t block, int) {
        const std::int64_t first = block * kColumns, count = std::min(kColumns, W - first);
        for (std::int64_t i = 0; i < rows; ++i) add_to(to + first, of.data() + i * W + first, count);
      });
    };
    sum(dbefore_, bias);
    if (is_gru()) sum(dproduct_, bias + W);
  }

  graph::Rnn op_;
  std::vector<Operand> outputs_, gradients_;
  // left_ is the trace of the forward pass; without one, own_ repeats the forward pass.
  std::shared_ptr<RnnTrace> left_;
  std::unique_ptr<RnnTrace> own_;
  RnnTrace& trace_;
  Operand x_, weights_, recurrent_weights_;
  UnaryLoop activation_;
  SlopeLoop act_slope_, gate_slope_;
  HeldPanels panels_;  // the recurrent kernel, transposed
  DynamicGemm kernel_, recurrent_, input_;
  std::vector<std::vector<float>> dstates_;  // (B,U)
  std::vector<float> pending_, scratch_;     // (B,U)
  std::vector<float> dbefore_, dproduct_;    // (B,T,W)
  std::vector<float> work_;                  // 2·U floats for each part
};

std::string why_not_back(const StepInfo& step) { return RnnTrace::why_not(step.op<graph::RnnGrad>().forward); }

}  // namespace

std::string why_not_dynamic_rnn(const StepInfo& step) { return RnnTrace::why_not(step.op<graph::Rnn>()); }

MemoryNeeds dynamic_rnn_needs(const StepInfo& step) {
  const auto& op = step.op<graph::Rnn>();
  const RnnSize size(op, step);
  const std::int64_t numbers = plan::sum_of_bytes({RnnTrace::numbers_of(op, size), bytes_times({size.B, size.U})});
  MemoryNeeds needs;
  needs.held = plan::sum_of_bytes(
      {bytes_times({numbers, bytes_of(DType::float32)}), DynamicGemm::held_bytes({size.B * size.T, size.D, size.W})});
  needs.scratch = RnnTrace::scratch_bytes(size, step.machine.threads);
  return needs;
}

std::unique_ptr<Kernel> make_dynamic_rnn(const Step& step) { return std::make_unique<DynamicRnn>(step); }

Kernels kernels_of(const graph::RnnGrad&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not_back, RnnGradKernel::needs_of, make_as<RnnGradKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
