// Layer normalization over the last axis, optionally after adding a residual. A row is read once and kept in registers.
// Its variance is computed from differences to its mean rather than from squares.
#include <cmath>
#include <string>

#include "device.h"
#include "fast.h"
#include "fused.h"
#include "row.h"

namespace attn::cuda {
namespace {

using graph::NormKind;

/// The operands of a normalization with an optional residual addition. P is the type of gamma and beta.
template <typename T, typename P>
struct Norm {
  const T *x, *residual;
  const P *gamma, *beta;
  T *sum, *y;
  NormKind kind;
  float epsilon;
  bool parameters_are_still;

  static Norm of(const NormStep& step) {
    const auto in = [](const std::byte* data) { return reinterpret_cast<const T*>(data); };
    const auto out = [](std::byte* data) { return reinterpret_cast<T*>(data); };
    const auto parameters = [](const std::byte* data) { return reinterpret_cast<const P*>(data); };
    return {in(step.x),
            in(step.residual),
            parameters(step.parameters.gamma),
            parameters(step.parameters.beta),
            out(step.sum),
            out(step.y),
            step.kind,
            static_cast<float>(step.epsilon),
            step.parameters.are_still};
  }
};

/// The factors and the offsets of a pack.
template <int kVector>
struct Affine {
  float factors[kVector] = {}, shifts[kVector] = {};

  template <typename T, typename P>
  __device__ __forceinline__ void load(const Norm<T, P>& norm, int column) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) factors[j] = 1.0F;
    if (norm.gamma != nullptr) load_pack(norm.gamma + column, factors);
    if (norm.beta != nullptr) load_pack(norm.beta + column, shifts);
  }
};

template <typename T, typename P, int kVector, int kPacks>
__global__ void __launch_bounds__(kMaxRowThreads) norm_kernel(RowLayout layout, Norm<T, P> norm) {
  let_next_kernel_start();
  const RowPlace place = row_place(layout);
  const auto held = static_cast<int>(layout.columns);
  const auto columns = static_cast<float>(held);
  // Weights come from global memory. If registers can hold them, they are loaded before the previous kernel has ended.
  constexpr int kAhead = kVector * kPacks <= 8 ? kPacks : 0;
  Affine<kVector> affine[kAhead > 0 ? kAhead : 1];
  const auto column_of = [&](int pack) { return (pack * place.threads + place.thread) * kVector; };
  const auto load_affine = [&] {
#pragma unroll
    for (int p = 0; p < kAhead; ++p) {
      if (column_of(p) < held) affine[p].load(norm, column_of(p));
    }
  };
  if (norm.parameters_are_still) load_affine();
  wait_for_previous_kernel();
  if (place.row >= layout.rows) return;
  if (!norm.parameters_are_still) load_affine();
  const std::int64_t start = place.row * layout.columns;
  Held<kVector, kPacks> row;
  float sum = 0.0F;
  row.each(place, held, [&](float(&numbers)[kVector], int column) {
    load_pack(norm.x + start + column, numbers);
    if (norm.residual != nullptr) {
      float others[kVector];
      load_pack(norm.residual + start + column, others);
#pragma unroll
      for (int j = 0; j < kVector; ++j) numbers[j] = to_float(from_float<T>(numbers[j] + others[j]));
    }
    if (norm.sum != nullptr) store_pack(norm.sum + start + column, numbers);
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum += numbers[j];
  });
  const float mean = norm.kind == NormKind::rms ? 0.0F : row_sum(place, sum) / columns;
  float spread = 0.0F;
  row.each(place, held, [&](const float(&numbers)[kVector], int) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) spread += (numbers[j] - mean) * (numbers[j] - mean);
  });
  const Statistics made = statistics(norm.kind, mean, row_sum(place, spread) / columns, norm.epsilon);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (column_of(p) >= held) continue;
    Affine<kVector>& by = affine[kAhead > 0 ? p : 0];
    if (kAhead == 0) by.load(norm, column_of(p));
    float(&numbers)[kVector] = row.numbers[p];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      numbers[j] = (numbers[j] - made.shift) * made.inverse * by.factors[j] + by.shifts[j];
    }
    store_pack(norm.y + start + column_of(p), numbers);
  }
}

/// Reads rows that exceed the registers three times, mostly from the cache, with one block per row.
template <typename T, typename P>
__global__ void __launch_bounds__(kMaxRowThreads) long_norm_kernel(RowLayout layout, Norm<T, P> norm) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const RowPlace place = row_place(layout);
  const std::int64_t start = place.row * layout.columns;
  const auto columns = static_cast<float>(layout.columns);
  const auto number = [&](std::int64_t column) {
    const float x = to_float(norm.x[start + column]);
    if (norm.residual == nullptr) return x;
    return to_float(from_float<T>(x + to_float(norm.residual[start + column])));
  };
  const auto over_columns = [&](auto term) {
    float sum = 0.0F;
    for (std::int64_t column = place.thread; column < layout.columns; column += place.threads) sum += term(column);
    return row_sum(place, sum) / columns;
  };
  const float mean = norm.kind == NormKind::rms ? 0.0F : over_columns(number);
  const float spread = over_columns([&](std::int64_t column) {
    const float distance = number(column) - mean;
    return distance * distance;
  });
  const Statistics made = statistics(norm.kind, mean, spread, norm.epsilon);
  for (std::int64_t column = place.thread; column < layout.columns; column += place.threads) {
    const float x = number(column);
    float result = (x - made.shift) * made.inverse;
    if (norm.gamma != nullptr) result *= to_float(norm.gamma[column]);
    if (norm.beta != nullptr) result += to_float(norm.beta[column]);
    if (norm.sum != nullptr) norm.sum[start + column] = from_float<T>(x);
    norm.y[start + column] = from_float<T>(result);
  }
}

}  // namespace

void launch_add_layer_norm(const NormStep& step, const Device& device, cudaStream_t stream) {
  const NormParameters& parameters = step.parameters;
  with_stored(step.dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool packed = step.columns % kPack<T> == 0 && is_aligned(step.x) && is_aligned(step.residual) &&
                        is_aligned(step.sum) && is_aligned(parameters.gamma) && is_aligned(parameters.beta) &&
                        is_aligned(step.y);
    const RowLayout layout = row_layout(step.rows, step.columns, packed, device);
    const auto launch_with = [&](auto parameter) {
      using P = decltype(parameter);
      const auto norm = Norm<T, P>::of(step);
      if (layout.numbers == 0) {
        check(launch(long_norm_kernel<T, P>, layout.launch_shape(), stream, layout, norm), "layer norm");
        return;
      }
      with_held<T>(layout, [&]<int kVector, int kPacks>() {
        check(launch(norm_kernel<T, P, kVector, kPacks>, layout.launch_shape(), stream, layout, norm), "layer norm");
      });
    };
    parameters.dtype == DType::float32 ? launch_with(0.0F) : launch_with(zero);
  });
}

Choice make_fast(const graph::LayerNorm& op, const Step& step) {
  const Operand& x = step.inputs[0];
  if (!is_packable(x.dtype)) return Choice("layer norm in registers: not float32, float16 or bfloat16");
  if (op.axes.size() != 1 || op.axes[0] != x.shape.rank() - 1) {
    return Choice("layer norm in registers: not over the last axis");
  }
  const auto parameters = norm_parameters(op, step);
  if (!parameters) return Choice("layer norm in registers: gamma and beta are not float32, nor all as the rows are");
  NormStep norm;
  norm.dtype = x.dtype;
  norm.columns = x.shape.back();
  norm.rows = x.size() / norm.columns;
  norm.x = x.data;
  norm.parameters = *parameters;
  norm.kind = op.kind;
  norm.epsilon = op.epsilon;
  norm.y = step.outputs[0].data;
  return {"rows in registers",
          [norm, &device = step.device](cudaStream_t stream) { launch_add_layer_norm(norm, device, stream); }};
}

}  // namespace attn::cuda
