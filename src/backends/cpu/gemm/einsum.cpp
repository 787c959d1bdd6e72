// Sums of products that are not matrix products; plan::simplify_einsum turns those into Linear and MatMul.
#include "attn/graph/einsum.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernel.h"
#include "operations/doubles.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::size_t kMostOperands = 8;
using Places = std::array<const float*, kMostOperands>;
using Steps = std::array<std::int64_t, kMostOperands>;  // step of each operand; 0 if it repeats or lacks the letter

/// y[i] += Π x[i·step] for i < size.
ATTN_VECTORIZED(void, add_products, const Places& x, const Steps& steps, std::size_t count, float* y,
                std::int64_t size) {
  if (count == 2 && steps[0] == 1 && steps[1] == 1) {
    for (std::int64_t i = 0; i < size; ++i) y[i] += x[0][i] * x[1][i];
  } else if (count == 2 && steps[0] + steps[1] == 1) {
    const float *const moves = x[steps[0] == 1 ? 0 : 1], factor = *x[steps[0] == 1 ? 1 : 0];
    for (std::int64_t i = 0; i < size; ++i) y[i] += moves[i] * factor;
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      float product = x[0][i * steps[0]];
      for (std::size_t n = 1; n < count; ++n) product *= x[n][i * steps[n]];
      y[i] += product;
    }
  }
}

/// Returns Σ Π x[i·step] for i < size, with steps 0 and 1, in double.
ATTN_VECTORIZED(double, sum_products, const Places& x, const Steps& steps, std::size_t count, std::int64_t size) {
  Doubles sums{};
  for (std::int64_t i = 0; i < size; i += kHalf) {
    Doubles product = Doubles{} + 1.0;
    for (std::size_t n = 0; n < count; ++n) {
      Doubles part;
      if (steps[n] == 0) {
        part = Doubles{} + static_cast<double>(*x[n]);
      } else {
        load_some(x[n] + i, size - i, part);
      }
      product *= part;
    }
    for (auto lane = static_cast<int>(std::min<std::int64_t>(size - i, kHalf)); lane < kHalf; ++lane)
      product[lane] = 0.0;
    sums += product;
  }
  return sum_of_halves(sums);
}

/// A letter: its size, and its stride in each operand.
struct Letter {
  std::int64_t size;
  Steps steps;
};

/// Advances offsets by the i-th combination of the letters, the last one fastest.
void move(Places& places, std::size_t count, const std::vector<Letter>& letters, std::int64_t i) {
  for (std::size_t l = letters.size(); l-- > 0; i /= letters[l].size) {
    const std::int64_t index = i % letters[l].size;
    for (std::size_t n = 0; n < count; ++n) places[n] += index * letters[l].steps[n];
  }
}

std::int64_t combinations(const std::vector<Letter>& letters) {
  std::int64_t count = 1;
  for (const Letter& letter : letters) count *= letter.size;
  return count;
}

/// An einsum. The inner loop runs along the last summed letter if that is contiguous in every operand that has it.
/// Otherwise it runs along the last output letter, in rows. Each output element belongs to one thread, and its terms
/// are added in order.
class EinsumKernel final : public Kernel {
 public:
  explicit EinsumKernel(const Step& step) : inputs_(step.inputs), y_(step.outputs[0]) {
    const graph::EinsumEquation equation = graph::parse_einsum(step.op<graph::Einsum>().equation);
    for (const char letter : equation.output) kept_.push_back(letter_of(equation, letter));
    std::string seen = equation.output;
    for (const std::string& letters : equation.inputs) {
      for (const char letter : letters) {
        if (seen.find(letter) != std::string::npos) continue;
        seen += letter;
        summed_.push_back(letter_of(equation, letter));
      }
    }
    const auto lies_dense = [](const Letter& letter) {
      return std::ranges::all_of(letter.steps, [](std::int64_t stride) { return stride == 0 || stride == 1; });
    };
    sums_along_ = !summed_.empty() && lies_dense(summed_.back());
    if (sums_along_) {
      inner_ = summed_.back();
      summed_.pop_back();
    } else if (!kept_.empty()) {
      inner_ = kept_.back();
      kept_.pop_back();
    }
    rows_ = combinations(kept_);
    terms_ = combinations(summed_);
    const double terms = static_cast<double>(terms_) * static_cast<double>(inner_.size);
    team_ = step.engine.team_for(2.0 * static_cast<double>(inputs_.size()) * terms * static_cast<double>(rows_));
  }

  void run() override {
    Places begin{};
    for (std::size_t n = 0; n < inputs_.size(); ++n) begin[n] = inputs_[n].data<float>();
    float* const y = y_.data<float>();
    parallel_ranges(rows_, team_, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t row = first; row < end; ++row) {
        Places of_row = begin;
        move(of_row, inputs_.size(), kept_, row);
        sums_along_ ? add_up(of_row, y + row) : add_rows(of_row, y + row * inner_.size);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  [[nodiscard]] Letter letter_of(const graph::EinsumEquation& equation, char wanted) const {
    Letter letter{1, {}};
    for (std::size_t n = 0; n < inputs_.size(); ++n) {
      std::int64_t stride = 1;
      for (auto axis = static_cast<int>(equation.inputs[n].size()); axis-- > 0; stride *= inputs_[n].shape[axis]) {
        if (equation.inputs[n][static_cast<std::size_t>(axis)] != wanted) continue;
        letter.size = inputs_[n].shape[axis];
        letter.steps[n] += stride;  // a diagonal advances along several axes at once
      }
    }
    return letter;
  }

  void add_up(const Places& of_row, float* y) const {
    double sum = 0.0;
    for (std::int64_t term = 0; term < terms_; ++term) {
      Places places = of_row;
      move(places, inputs_.size(), summed_, term);
      sum += sum_products(places, inner_.steps, inputs_.size(), inner_.size);
    }
    *y = static_cast<float>(sum);
  }

  void add_rows(const Places& of_row, float* y) const {
    std::fill_n(y, inner_.size, 0.0F);
    for (std::int64_t term = 0; term < terms_; ++term) {
      Places places = of_row;
      move(places, inputs_.size(), summed_, term);
      add_products(places, inner_.steps, inputs_.size(), y, inner_.size);
    }
  }

  std::vector<Operand> inputs_;
  Operand y_;
  std::vector<Letter> kept_, summed_;  // kept and summed letters, except that of the inner loop
  Letter inner_{1, {}};
  bool sums_along_ = false;
  std::int64_t rows_ = 1, terms_ = 1;
  Team team_;
};

std::string why_not_einsum(const StepInfo& step) {
  for (const Operand& input : step.inputs)
    if (input.dtype != DType::float32) return "its inputs are of several dtypes";
  return step.inputs.size() <= kMostOperands ? "" : "it has too many inputs";
}

}  // namespace

Kernels kernels_of(const graph::Einsum&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not_einsum, no_memory, make_as<EinsumKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
