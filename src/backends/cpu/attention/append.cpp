// Writes rows into KV caches (graph::Append).
#include <algorithm>

#include "attn/base/error.h"
#include "kernel.h"
#include "operations/convert.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

class Append final : public Kernel {
 public:
  explicit Append(const Step& step)
      : cache_(step.inputs[0]),
        x_(step.inputs[1]),
        position_(step.inputs[2]),
        team_(step.engine.team_for(8.0 * static_cast<double>(x_.size()))) {}

  void run() override {
    const std::int64_t B = x_.shape[0], T = x_.shape[1], K = x_.shape[2], H = x_.shape[3], S = cache_.shape[2];
    const std::int64_t position = *position_.data<std::int32_t>();
    if (position < 0 || position + T > S)
      throw bad_input("rows {} to {} do not fit a cache of {} rows", position, position + T, S);
    const std::int64_t step = B > 0 ? cache_.shape[0] / B : 0;
    parallel_for(B * K, team_, [&](std::int64_t item, int) {
      const std::int64_t b = item / K, k = item % K;
      for (std::int64_t t = 0; t < T; ++t)
        put(((b * T + t) * K + k) * H, ((b * step * K + k) * S + position + t) * H, H);
    });
  }

  [[nodiscard]] std::string_view name() const override { return "append"; }

 private:
  void put(std::int64_t from, std::int64_t to, std::int64_t size) const {
    if (x_.dtype == cache_.dtype) {
      const std::int64_t bytes = bytes_of(x_.dtype);
      std::copy_n(x_.data<std::byte>() + from * bytes, size * bytes, cache_.data<std::byte>() + to * bytes);
    } else {
      narrow(cache_.dtype, x_.data<float>() + from, cache_.data<std::uint16_t>() + to, size);
    }
  }

  Operand cache_, x_, position_;
  Team team_;
};

std::string why_not_append(const StepInfo& step) {
  const DType cache = step.inputs[0].dtype, x = step.inputs[1].dtype;
  return cache == x || (x == DType::float32 && is_half(cache)) ? "" : "no kernel converts between its dtypes";
}

}  // namespace

Kernels kernels_of(const graph::Append&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not_append, no_memory, make_as<Append>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
