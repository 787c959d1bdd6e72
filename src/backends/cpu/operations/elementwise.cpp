// Binary functions, selection and conversion.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "broadcasting.h"
#include "convert.h"
#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::BinaryFn;

/// z[i] = x ∘ y along a row, where x or y may repeat. The result is float or, for a comparison, a byte.
using Row = void (*)(const float* x, bool x_steps, const float* y, bool y_steps, void* z, std::int64_t size);

template <typename Result, typename Function>
[[gnu::always_inline]] inline void apply_row(const float* x, bool x_steps, const float* y, bool y_steps, void* to,
                                             std::int64_t size, Function f) {
  auto* const z = static_cast<Result*>(to);
  if (x_steps && y_steps) {
    for (std::int64_t i = 0; i < size; ++i) z[i] = static_cast<Result>(f(x[i], y[i]));
  } else if (x_steps) {
    const float b = *y;
    for (std::int64_t i = 0; i < size; ++i) z[i] = static_cast<Result>(f(x[i], b));
  } else if (y_steps) {
    const float a = *x;
    for (std::int64_t i = 0; i < size; ++i) z[i] = static_cast<Result>(f(a, y[i]));
  } else {
    std::fill_n(z, size, static_cast<Result>(f(*x, *y)));
  }
}

#define ATTN_ROW(name, Result, expression)                                                           \
  ATTN_VECTORIZED(void, name, const float* x, bool x_steps, const float* y, bool y_steps, void* z,   \
                  std::int64_t size) {                                                               \
    apply_row<Result>(x, x_steps, y, y_steps, z, size, [](float a, float b) { return expression; }); \
  }
ATTN_ROW(add_rows, float, a + b)
ATTN_ROW(subtract_rows, float, a - b)
ATTN_ROW(multiply_rows, float, a* b)
ATTN_ROW(divide_rows, float, a / b)
ATTN_ROW(maximum_rows, float, (a != a || a > b ? a : b))
ATTN_ROW(minimum_rows, float, (a != a || a < b ? a : b))
ATTN_ROW(equal_rows, std::uint8_t, a == b)
ATTN_ROW(not_equal_rows, std::uint8_t, a != b)
ATTN_ROW(less_rows, std::uint8_t, a < b)
ATTN_ROW(less_equal_rows, std::uint8_t, a <= b)
ATTN_ROW(greater_rows, std::uint8_t, a > b)
ATTN_ROW(greater_equal_rows, std::uint8_t, a >= b)
#undef ATTN_ROW

Row row_of(BinaryFn fn) {
  switch (fn) {
    case BinaryFn::add:
      return add_rows;
    case BinaryFn::subtract:
      return subtract_rows;
    case BinaryFn::multiply:
      return multiply_rows;
    case BinaryFn::divide:
      return divide_rows;
    case BinaryFn::maximum:
      return maximum_rows;
    case BinaryFn::minimum:
      return minimum_rows;
    case BinaryFn::equal:
      return equal_rows;
    case BinaryFn::not_equal:
      return not_equal_rows;
    case BinaryFn::less:
      return less_rows;
    case BinaryFn::less_equal:
      return less_equal_rows;
    case BinaryFn::greater:
      return greater_rows;
    case BinaryFn::greater_equal:
      return greater_equal_rows;
    default:
      return nullptr;
  }
}

/// Calls one(row, begin, end) for parts of all rows, in parallel.
template <std::size_t kCount, typename Function>
void for_each_part(const Walk<kCount>& walk, const Team& team, Function one) {
  if (walk.row_starts.size() == 1) {
    parallel_ranges(walk.length, team, [&](std::int64_t begin, std::int64_t end) { one(0, begin, end); });
    return;
  }
  parallel_ranges(static_cast<std::int64_t>(walk.row_starts.size()), team, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) one(static_cast<std::size_t>(row), 0, walk.length);
  });
}

class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const Step& step)
      : row_(row_of(step.op<graph::Binary>().fn)),
        x_(step.inputs[0]),
        y_(step.inputs[1]),
        z_(step.outputs[0]),
        walk_(walk<2>({&x_.shape, &y_.shape}, z_.shape)),
        team_(step.engine.team_for(4.0 * static_cast<double>(z_.size()))) {}

  void run() override {
    const std::int64_t width = bytes_of(z_.dtype);
    const auto one = [&](std::size_t row, std::int64_t begin, std::int64_t end) {
      const auto& [x, y] = walk_.row_starts[row];
      const std::int64_t first = static_cast<std::int64_t>(row) * walk_.length + begin;
      row_(x_.data<float>() + x + (walk_.steps[0] ? begin : 0), walk_.steps[0],
           y_.data<float>() + y + (walk_.steps[1] ? begin : 0), walk_.steps[1], z_.data<std::byte>() + first * width,
           end - begin);
    };
    for_each_part(walk_, team_, one);
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  Row row_;
  Operand x_, y_, z_;
  Walk<2> walk_;
  Team team_;
};

class SelectKernel final : public Kernel {
 public:
  explicit SelectKernel(const Step& step)
      : condition_(step.inputs[0]),
        x_(step.inputs[1]),
        y_(step.inputs[2]),
        z_(step.outputs[0]),
        walk_(walk<3>({&condition_.shape, &x_.shape, &y_.shape}, z_.shape)),
        team_(step.engine.team_for(4.0 * static_cast<double>(z_.size()))) {}

  void run() override {
    for_each_part(walk_, team_, [&](std::size_t row, std::int64_t begin, std::int64_t end) {
      bytes_of(z_.dtype) == 4 ? select<std::uint32_t>(row, begin, end) : select<std::uint16_t>(row, begin, end);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  template <typename Word>
  void select(std::size_t row, std::int64_t begin, std::int64_t end) const {
    const std::int64_t c_step = walk_.steps[0] ? 1 : 0, x_step = walk_.steps[1] ? 1 : 0,
                       y_step = walk_.steps[2] ? 1 : 0;
    const auto& [c, x, y] = walk_.row_starts[row];
    const auto* const condition = condition_.data<std::uint8_t>() + c;
    const auto* const left = x_.data<Word>() + x;
    const auto* const right = y_.data<Word>() + y;
    auto* const z = z_.data<Word>() + static_cast<std::int64_t>(row) * walk_.length;
    if (c_step == 0 && *condition != 0 && x_step == 1) {
      std::copy(left + begin, left + end, z + begin);
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) z[i] = condition[i * c_step] != 0 ? left[i * x_step] : right[i * y_step];
  }

  Operand condition_, x_, y_, z_;
  Walk<3> walk_;
  Team team_;
};

/// Converts between float32 and half precision.
class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const Step& step)
      : x_(step.inputs[0]), y_(step.outputs[0]), team_(step.engine.team_for(4.0 * static_cast<double>(x_.size()))) {}

  void run() override {
    parallel_ranges(x_.size(), team_, [&](std::int64_t begin, std::int64_t end) {
      if (y_.dtype == DType::float32) {
        widen(x_.dtype, x_.data<std::uint16_t>() + begin, y_.data<float>() + begin, end - begin);
      } else {
        narrow(y_.dtype, x_.data<float>() + begin, y_.data<std::uint16_t>() + begin, end - begin);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  Operand x_, y_;
  Team team_;
};

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

std::string why_not_binary(const StepInfo& step) {
  const BinaryFn fn = step.op<graph::Binary>().fn;
  return row_of(fn) != nullptr ? "" : fmt::format("no kernel here for {}", graph::name_of(fn));
}

std::string why_not_select(const StepInfo& step) {
  const std::int64_t width = bytes_of(step.outputs[0].dtype);
  return width == 2 || width == 4 ? "" : "no kernel here for elements of this width";
}

std::string why_not_cast(const StepInfo& step) {
  const DType from = step.inputs[0].dtype, to = step.outputs[0].dtype;
  const bool converts = (from == DType::float32 && is_half(to)) || (is_half(from) && to == DType::float32);
  return converts ? "" : fmt::format("no kernel here from {} to {}", name_of(from), name_of(to));
}

}  // namespace

Kernels kernels_of(const graph::Binary&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not_binary, no_memory, make_as<BinaryKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::Select&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not_select, no_memory, make_as<SelectKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::Cast&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not_cast, no_memory, make_as<CastKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
