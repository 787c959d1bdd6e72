// Recurrent layers: one product with the input for all steps, then a product with the state for each step.
//
// B batch, T steps, D input width, U units, g gates side by side in every kernel: (D, g·U), (U, g·U).
#include <algorithm>
#include <vector>

#include "attn/base/error.h"
#include "attn/plan/bytes.h"
#include "gemm/products.h"
#include "kernel.h"
#include "training/rnn_training.h"
#include "unary.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::RnnCell;

ATTN_VECTORIZED(void, add, const float* x, const float* y, float* z, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) z[i] = x[i] + y[i];
}
ATTN_VECTORIZED(void, multiply, const float* x, const float* y, float* z, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) z[i] = x[i] * y[i];
}
/// x = a·x + b·y
ATTN_VECTORIZED(void, mix, const float* a, float* x, const float* b, const float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = a[i] * x[i] + b[i] * y[i];
}
/// x = a·x + (1 − a)·y
ATTN_VECTORIZED(void, blend, const float* a, float* x, const float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = a[i] * x[i] + (1.0F - a[i]) * y[i];
}

std::int64_t gates_of(RnnCell cell) {
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

/// Copies columns [first, first + width) of a matrix.
Tensor columns(const Tensor& matrix, Dim first, Dim width) {
  const Dim rows = matrix.shape()[0], all = matrix.shape()[1];
  Tensor result(DType::float32, {rows, width});
  for (Dim i = 0; i < rows; ++i) {
    std::copy_n(matrix.as<float>().data() + i * all + first, width, result.as<float>().data() + i * width);
  }
  return result;
}

constexpr std::int64_t kPartsPerThread = 2;

/// Selects the product with the states by the size of the whole batch. The size of a part depends on the number of
/// threads, but the bits of a result must not.
const ProductInfo& product_of_states(std::int64_t batch, std::int64_t units, std::int64_t width,
                                     const Multiplication& multiplication) {
  const ProductInfo* const product =
      find_product({{batch, units, width}, DType::float32, DType::float32, multiplication});
  if (product == nullptr) throw internal_error("no product of float32");
  return *product;
}

/// Returns the number of parts of the batch. A part has enough samples to hide the reading of the weights, or to fill a
/// tile.
std::int64_t parts_of(std::int64_t batch, const ProductInfo& product, int threads) {
  constexpr std::int64_t kLeastSamples = 8, kTileRows = 32;
  if (threads == 1) return 1;
  const std::int64_t most = &product == &kTileProduct ? (batch + kTileRows - 1) / kTileRows : batch / kLeastSamples;
  return std::clamp<std::int64_t>(most, 1, kPartsPerThread * threads);
}

/// Returns whether the candidate's columns of the kernel are multiplied separately: in a GRU with reset_after=false.
bool is_split(const graph::Rnn& op) { return op.cell == RnnCell::gru && !op.reset_after; }

class RnnKernel final : public Kernel {
 public:
  explicit RnnKernel(const Step& step)
      : op_(step.op<graph::Rnn>()),
        x_(step.inputs[0]),
        outputs_(step.outputs),
        activation_(op_.activation),
        gate_(op_.recurrent_activation) {
    const graph::Rnn& op = op_;
    B_ = x_.shape[0];
    T_ = x_.shape[1];
    U_ = step.inputs[2].shape[0];
    width_ = gates_of(op.cell) * U_;
    std::size_t next = 3;
    const float* bias = nullptr;            // (g·U) for the input
    const float* recurrent_bias = nullptr;  // (g·U) for the state
    if (op.bias) {
      bias = step.fixed[next++].as<float>().data();
      if (op.cell == RnnCell::gru && op.reset_after) recurrent_bias = bias + width_;
    }
    if (op.mask) mask_ = step.inputs[next++];
    for (; next < step.inputs.size(); ++next) initial_.push_back(step.inputs[next]);

    input_product_ = make_product(step.engine, {B_ * T_, x_.shape[2], width_}, DType::float32, {step.fixed[1].data()},
                                  Product::Fusion{bias, {}, false});
    // Samples are independent, so each part of the batch runs through all steps in one thread.
    const double work = 2.0 * static_cast<double>(B_ * T_) * static_cast<double>(U_) * static_cast<double>(width_);
    team_ = step.engine.team_for(work);
    const bool split = is_split(op);
    recurrent_width_ = split ? 2 * U_ : width_;
    const ProductInfo& states = product_of_states(B_, U_, recurrent_width_, step.engine.multiplication);
    parts_ = parts_of(B_, states, team_.threads);
    const Tensor recurrent = columns(step.fixed[2], 0, recurrent_width_);
    const Tensor candidate = split ? columns(step.fixed[2], 2 * U_, U_) : Tensor();
    PackedWeight packed, packed_candidate;
    for (std::int64_t part = 0; part < parts_; ++part) {
      const std::int64_t samples = first_of(part + 1) - first_of(part);
      // Each part has a single-threaded engine, so that its products have scratch memory of their own.
      if (parts_ > 1)
        alone_.push_back(std::make_unique<Engine>(1, step.engine.work_per_thread, step.engine.multiplication));
      Engine& engine = parts_ > 1 ? *alone_.back() : step.engine;
      Products products{states.make(engine, {samples, U_, recurrent_width_}, DType::float32,
                                    {recurrent.data(), &packed}, Product::Fusion{recurrent_bias, {}, false}),
                        nullptr};
      if (split) {
        products.candidate = states.make(engine, {samples, U_, U_}, DType::float32,
                                         {candidate.data(), &packed_candidate}, Product::Fusion{});
      }
      products_.push_back(std::move(products));
    }

    const auto floats = [](std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); };
    projected_ = floats(B_ * T_ * width_);
    recurrent_ = floats(B_ * recurrent_width_);
    gates_ = floats(B_ * width_);
    reset_ = floats(B_ * U_);
    candidate_ = floats(B_ * U_);
    states_.assign(op.cell == RnnCell::lstm ? 2 : 1, floats(B_ * U_));
    stepped_ = states_;
    output_ = floats(B_ * U_);
  }

  void run() override {
    for (std::size_t s = 0; s < states_.size(); ++s) {
      if (op_.initial_state) {
        std::copy_n(initial_[s].data<float>(), states_[s].size(), states_[s].begin());
      } else {
        std::ranges::fill(states_[s], 0.0F);
      }
    }
    std::ranges::fill(output_, 0.0F);
    input_product_->run(x_.data<void>(), nullptr, projected_.data());
    parallel_for(parts_, team_, [&](std::int64_t part, int) {
      for (std::int64_t i = 0; i < T_; ++i) {
        const std::int64_t t = op_.go_backwards ? T_ - 1 - i : i;
        step(part, t);
        keep(part, t, i);
      }
    });
    if (!op_.return_sequences) std::ranges::copy(output_, outputs_[0].data<float>());
    for (std::size_t s = 0; op_.return_state && s < states_.size(); ++s) {
      std::ranges::copy(states_[s], outputs_[1 + s].data<float>());
    }
  }

  [[nodiscard]] std::string_view name() const override { return "simple, a product for each step"; }
  [[nodiscard]] std::int64_t bytes() const override {
    const std::size_t floats = projected_.size() + recurrent_.size() + gates_.size() + reset_.size() +
                               candidate_.size() + output_.size() + 2 * states_.size() * output_.size();
    std::int64_t sum = input_product_->bytes() + static_cast<std::int64_t>(floats * sizeof(float));
    for (const auto& engine : alone_) sum += engine->scratch.size();
    for (const Products& products : products_) {
      sum += products.state->bytes();
      if (products.candidate) sum += products.candidate->bytes();
    }
    return sum;
  }

 private:
  /// Returns the index of the first sample of a part.
  [[nodiscard]] std::int64_t first_of(std::int64_t part) const { return B_ * part / parts_; }

  /// Computes the states of a part's samples after time t, into stepped_.
  void step(std::int64_t part, std::int64_t t) {
    const std::int64_t begin = first_of(part), end = first_of(part + 1);
    const Products& products = products_[static_cast<std::size_t>(part)];
    for (std::size_t s = 0; s < states_.size(); ++s)
      std::copy(states_[s].begin() + begin * U_, states_[s].begin() + end * U_, stepped_[s].begin() + begin * U_);
    products.state->run(states_[0].data() + begin * U_, nullptr, recurrent_.data() + begin * recurrent_width_);
    for (std::int64_t b = begin; b < end; ++b) {
      const float* const x = projected_.data() + (b * T_ + t) * width_;
      const float* const h = recurrent_.data() + b * recurrent_width_;
      float* const z = gates_.data() + b * width_;
      switch (op_.cell) {
        case RnnCell::simple:
          simple(x, h, state(0, b));
          break;
        case RnnCell::lstm:
          lstm(x, h, z, state(0, b), state(1, b));
          break;
        case RnnCell::gru:
          gru_gates(x, h, z, b);
          break;
      }
    }
    if (op_.cell != RnnCell::gru) return;
    if (products.candidate)
      products.candidate->run(reset_.data() + begin * U_, nullptr, candidate_.data() + begin * U_);
    for (std::int64_t b = begin; b < end; ++b) {
      float* const candidate = candidate_.data() + b * U_;
      add(candidate, projected_.data() + (b * T_ + t) * width_ + 2 * U_, candidate, U_);
      activation_(candidate, candidate, U_);
      blend(gates_.data() + b * width_, state(0, b), candidate, U_);
    }
  }

  float* state(std::size_t s, std::int64_t b) { return stepped_[s].data() + b * U_; }

  void simple(const float* x, const float* recurrent, float* h) const {
    add(x, recurrent, h, U_);
    activation_(h, h, U_);
  }

  void lstm(const float* x, const float* recurrent, float* z, float* h, float* c) const {
    add(x, recurrent, z, width_);  // pre-activations of the gates i, f, c, o
    gate_(z, z, 2 * U_);
    activation_(z + 2 * U_, z + 2 * U_, U_);
    gate_(z + 3 * U_, z + 3 * U_, U_);
    mix(z + U_, c, z, z + 2 * U_, U_);
    activation_(c, h, U_);
    multiply(h, z + 3 * U_, h, U_);
  }

  /// Computes the gates z and r. With reset_after it multiplies r by the product with the state; otherwise it computes
  /// r·h for the candidate's product.
  void gru_gates(const float* x, const float* recurrent, float* z, std::int64_t b) {
    add(x, recurrent, z, 2 * U_);
    gate_(z, z, 2 * U_);
    const float* const reset = z + U_;
    if (op_.reset_after) {
      multiply(reset, recurrent + 2 * U_, candidate_.data() + b * U_, U_);
    } else {
      multiply(reset, states_[0].data() + b * U_, reset_.data() + b * U_, U_);
    }
  }

  /// Copies the stepped states of a part's samples, except where the mask is false, and writes the i-th output.
  void keep(std::int64_t part, std::int64_t t, std::int64_t i) {
    for (std::int64_t b = first_of(part); b < first_of(part + 1); ++b) {
      float* const output = output_.data() + b * U_;
      if (!op_.mask || mask_.data<std::uint8_t>()[b * T_ + t] != 0) {
        for (std::size_t s = 0; s < states_.size(); ++s) std::copy_n(state(s, b), U_, states_[s].data() + b * U_);
        std::copy_n(state(0, b), U_, output);
      } else if (op_.zero_output_for_mask) {
        std::fill_n(output, U_, 0.0F);
      }
      if (op_.return_sequences) std::copy_n(output, U_, outputs_[0].data<float>() + (b * T_ + i) * U_);
    }
  }

  graph::Rnn op_;
  Operand x_, mask_;
  std::vector<Operand> initial_, outputs_;
  UnaryLoop activation_, gate_;
  std::int64_t B_, T_, U_, width_, recurrent_width_;
  std::unique_ptr<Product> input_product_;
  /// The products with a part's states, and for the candidate of a GRU with reset_after=false.
  struct Products {
    std::unique_ptr<Product> state, candidate;
  };
  Team team_;
  std::int64_t parts_;
  std::vector<std::unique_ptr<Engine>> alone_;        // engine of each part; empty with a single part
  std::vector<Products> products_;                    // for each part
  std::vector<float> projected_;                      // (B,T,g·U)
  std::vector<float> recurrent_, gates_;              // (B,g·U)
  std::vector<float> reset_, candidate_, output_;     // (B,U)
  std::vector<std::vector<float>> states_, stepped_;  // (B,U) for each state
};

/// Returns the number of inputs after x that are weights.
std::size_t weights_of(const graph::Rnn& op) { return op.bias ? 3 : 2; }

std::string why_not(const StepInfo& step) {
  for (std::size_t i = 1; i <= weights_of(step.op<graph::Rnn>()); ++i) {
    if (!step.is_fixed(i)) return "a kernel or the bias is not a weight";
  }
  return "";
}

MemoryNeeds needs_of(const StepInfo& step) {
  const auto& op = step.op<graph::Rnn>();
  const Shape& x = step.inputs[0].shape;
  const Shape& recurrent = step.inputs[2].shape;
  const std::int64_t samples = x[0], rows = bytes_times({samples, x[1]}), units = recurrent[0], width = recurrent[1];
  constexpr std::int64_t kArrays = 8;  // upper bound of states and gates
  MemoryNeeds needs;
  needs.held = plan::sum_of_bytes({bytes_times({rows, width, bytes_of(DType::float32)}),
                                   bytes_times({samples, width, kArrays, bytes_of(DType::float32)})});
  needs.making = bytes_times({recurrent.size(), bytes_of(DType::float32)});
  const auto product = [&](const Product::Size& size) {
    return ProductQuery{size, DType::float32, DType::float32, step.machine.multiplication};
  };
  add_product(step, product({rows, x[2], width}), needs);
  const std::int64_t parts = parts_of(
      samples, product_of_states(samples, units, is_split(op) ? 2 * units : width, step.machine.multiplication),
      step.machine.threads);
  const auto add_recurrent = [&](std::int64_t columns) {
    const ProductQuery query = product({samples, units, columns});
    add_product(step, query, needs);
    if (parts > 1) {  // each part has a copy of the bias, and scratch memory
      const ProductInfo& info = *find_product(query);
      const std::int64_t own = plan::sum_of_bytes({info.held_bytes(query), info.scratch_bytes(query, 1)});
      needs.held = plan::sum_of_bytes({needs.held, bytes_times({parts, own})});
    }
  };
  add_recurrent(is_split(op) ? 2 * units : width);
  if (is_split(op)) add_recurrent(units);
  needs.copied.assign(step.inputs.size(), false);
  for (std::size_t i = 1; i <= weights_of(op); ++i) needs.copied[i] = true;
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::Rnn&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not, needs_of, make_as<RnnKernel>},
      {KernelDType::float32, why_not_dynamic_rnn, dynamic_rnn_needs, make_dynamic_rnn}};
  return kKernels;
}

}  // namespace attn::backends::cpu
