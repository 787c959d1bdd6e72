// Dropout with TensorFlow's stateless random numbers.
#include <algorithm>

#include "attn/base/tensorflow_random.h"
#include "kernel.h"
#include "operations/convert.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kWords = 4;    // random words per block
constexpr std::int64_t kBlocks = 64;  // blocks drawn together
constexpr std::int64_t kDrawn = kWords * kBlocks;

/// Draws the words of kBlocks blocks from block `first` on, as TensorflowRandom does (Salmon et al., 2011).
ATTN_VECTORIZED(void, draw, const TensorflowRandom::Counter& counter, std::uint64_t first, std::uint32_t* words) {
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(block);
    std::uint32_t a = static_cast<std::uint32_t>(number), b = static_cast<std::uint32_t>(number >> 32);
    std::uint32_t c = counter.high[0], d = counter.high[1], key = counter.key[0], other = counter.key[1];
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t x = std::uint64_t{0xD2511F53} * a, y = std::uint64_t{0xCD9E8D57} * c;
      a = static_cast<std::uint32_t>(y >> 32) ^ b ^ key;
      b = static_cast<std::uint32_t>(y);
      c = static_cast<std::uint32_t>(x >> 32) ^ d ^ other;
      d = static_cast<std::uint32_t>(x);
      key += 0x9E3779B9;
      other += 0xBB67AE85;
    }
    words[kWords * block] = a;
    words[kWords * block + 1] = b;
    words[kWords * block + 2] = c;
    words[kWords * block + 3] = d;
  }
}

/// y = scale·x if the masked bits of the element's word are not below `dropped`, otherwise 0.
ATTN_VECTORIZED(void, keep, const std::uint32_t* words, std::uint32_t mask, float dropped, float scale, const float* x,
                float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const auto number = static_cast<float>(static_cast<std::int32_t>(words[i] & mask));
    y[i] = number >= dropped ? x[i] * scale : 0.0F;
  }
}

/// Returns the number of random bits that TensorFlow uses for a dtype.
int bits_of(DType dtype) { return dtype == DType::float32 ? 23 : dtype == DType::float16 ? 10 : 7; }

double rounded(double number, DType dtype) {
  Tensor one(dtype, Shape{});
  one.set(0, number);
  return one.at(0);
}

/// Dropout whose noise has the shape of x. In half precision, rate and scale are rounded; their products are exact in
/// float32.
constexpr double kWork = 100.0;

class DropoutKernel final : public Kernel {
 public:
  explicit DropoutKernel(const Step& step)
      : seed_(step.op<graph::Dropout>().seed),
        x_(step.inputs[0]),
        count_(step.inputs[1]),
        y_(step.outputs[0]),
        team_(step.engine.team_for(kWork * static_cast<double>(x_.size()))) {
    const double rate = step.op<graph::Dropout>().rate;
    const auto one = std::uint32_t{1} << bits_of(x_.dtype);
    mask_ = one - 1;
    dropped_ = static_cast<float>(rounded(rate, x_.dtype)) * static_cast<float>(one);
    scale_ = static_cast<float>(rounded(1.0 / (1.0 - rate), x_.dtype));
  }

  void run() override {
    const TensorflowRandom random(seed_, *count_.data<std::int64_t>());
    const std::int64_t size = x_.size();
    parallel_ranges((size + kDrawn - 1) / kDrawn, team_, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t words[kDrawn];
      for (std::int64_t part = begin; part < end; ++part) {
        draw(random.counter(), static_cast<std::uint64_t>(part * kBlocks), words);
        run_part(words, part * kDrawn, std::min(kDrawn, size - part * kDrawn));
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  void run_part(const std::uint32_t* words, std::int64_t first, std::int64_t count) const {
    if (x_.dtype == DType::float32) {
      keep(words, mask_, dropped_, scale_, x_.data<float>() + first, y_.data<float>() + first, count);
      return;
    }
    float numbers[kDrawn];
    widen(x_.dtype, x_.data<std::uint16_t>() + first, numbers, count);
    keep(words, mask_, dropped_, scale_, numbers, numbers, count);
    narrow(x_.dtype, numbers, y_.data<std::uint16_t>() + first, count);
  }

  std::int64_t seed_;
  Operand x_, count_, y_;
  Team team_;
  std::uint32_t mask_ = 0;
  float dropped_ = 0.0F, scale_ = 0.0F;
};

std::string why_not(const StepInfo& step) {
  if (step.inputs[0].dtype == DType::float64) return "it is of float64";
  return step.op<graph::Dropout>().noise == step.inputs[0].shape ? "" : "several numbers are dropped together";
}

}  // namespace

Kernels kernels_of(const graph::Dropout&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not, no_memory, make_as<DropoutKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
