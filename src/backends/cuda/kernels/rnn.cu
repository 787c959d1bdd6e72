// Recurrent layers: first the input's contribution to all steps, then one block per sample that iterates over the
// steps.
//
// B samples, T steps, D input width, U units, g gates concatenated in every kernel: (D, g·U), (U, g·U).
#include <cstdint>

#include "device.h"
#include "function.h"
#include "number.h"
#include "plain.h"
#include "rnn.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::RnnCell;

int gates_of(RnnCell cell) {
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

struct Recurrence {
  RnnCell cell = RnnCell::simple;
  bool reset_after = false, go_backwards = false, return_sequences = false, zero_output_for_mask = false;
  std::int64_t samples = 0, steps = 0, depth = 0, units = 0;
  std::int64_t width = 0;          ///< g·U
  Array x;                         ///< (B, T, D)
  Array kernel, recurrent_kernel;  ///< (D, g·U), (U, g·U)
  Array bias;                      ///< (g·U), (2, g·U) for gru with reset_after, or null
  Array mask;                      ///< (B, T) or null
  Array initial[2];                ///< (B, U) or null
  Array output;                    ///< (B, T, U) or (B, U)
  Array last[2];                   ///< (B, U) or null
};

/// The intermediate arrays in scratch memory.
template <typename Number>
struct Work {
  Number* input_part;  ///< (B, T, g·U): x·kernel + bias
  Number* products;    ///< (B, g·U): h·recurrent kernel
  Number* h;           ///< (B, U)
  Number* c;           ///< (B, U): the cell state of lstm; r∘h for gru without reset_after

  static Work in(std::byte* data, const Recurrence& r) {
    auto* const first = reinterpret_cast<Number*>(data);
    Number* const products = first + r.samples * r.steps * r.width;
    Number* const h = products + r.samples * r.width;
    return {first, products, h, h + r.samples * r.units};
  }
};

template <typename Number>
__global__ void input_part_kernel(Recurrence r, Work<Number> work) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= r.samples * r.steps * r.width) return;
  const auto [row, column] = divide(i, r.width);
  Number sum = r.bias.data != nullptr ? load<Number>(r.bias, column) : Number{};
  for (std::int64_t k = 0; k < r.depth; ++k) {
    sum += load<Number>(r.x, row * r.depth + k) * load<Number>(r.kernel, k * r.width + column);
  }
  work.input_part[i] = sum;
}

/// Returns Σ h[k]·recurrent kernel[k, column].
template <typename Number>
__device__ Number recurrent_product(const Recurrence& r, const Number* h, std::int64_t column) {
  Number sum{};
  for (std::int64_t k = 0; k < r.units; ++k) sum += h[k] * load<Number>(r.recurrent_kernel, k * r.width + column);
  return sum;
}

/// Runs one sample. The threads of the block share its units and exchange values through global memory.
template <typename Number>
__global__ void recurrence_kernel(Recurrence r, Work<Number> work, Function<Number> activation,
                                  Function<Number> recurrent_activation) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t b = blockIdx.x, U = r.units;
  Number* const products = work.products + b * r.width;
  Number* const h = work.h + b * U;
  Number* const c = work.c + b * U;
  const bool reset_before = r.cell == RnnCell::gru && !r.reset_after;
  const bool recurrent_bias = r.cell == RnnCell::gru && r.reset_after && r.bias.data != nullptr;
  const auto act = [&](Number number) { return apply(activation, number); };
  const auto gate = [&](Number number) { return apply(recurrent_activation, number); };

  for (std::int64_t u = threadIdx.x; u < U; u += blockDim.x) {
    h[u] = r.initial[0].data != nullptr ? load<Number>(r.initial[0], b * U + u) : Number{};
    c[u] = r.initial[1].data != nullptr ? load<Number>(r.initial[1], b * U + u) : Number{};
  }
  bool shows_h = false;  // otherwise the output is 0: before the first step, or after a masked step that clears it
  bool stepped = false;
  for (std::int64_t i = 0; i < r.steps; ++i) {
    const std::int64_t t = r.go_backwards ? r.steps - 1 - i : i;
    const bool masked = r.mask.data != nullptr && element<std::uint8_t>(r.mask, b * r.steps + t) == 0;
    if (!masked) {
      const Number* const z = work.input_part + (b * r.steps + t) * r.width;
      __syncthreads();
      for (std::int64_t column = threadIdx.x; column < (reset_before ? 2 * U : r.width); column += blockDim.x) {
        const Number first = recurrent_bias ? load<Number>(r.bias, r.width + column) : Number{};
        products[column] = first + recurrent_product(r, h, column);
      }
      __syncthreads();
      if (reset_before) {
        for (std::int64_t u = threadIdx.x; u < U; u += blockDim.x) c[u] = gate(z[U + u] + products[U + u]) * h[u];
        __syncthreads();
      }
      for (std::int64_t u = threadIdx.x; u < U; u += blockDim.x) {
        switch (r.cell) {
          case RnnCell::simple:
            h[u] = act(z[u] + products[u]);
            break;
          case RnnCell::lstm: {  // gates i, f, c, o
            const Number input = gate(z[u] + products[u]), forget = gate(z[U + u] + products[U + u]);
            const Number output = gate(z[3 * U + u] + products[3 * U + u]);
            c[u] = forget * c[u] + input * act(z[2 * U + u] + products[2 * U + u]);
            h[u] = output * act(c[u]);
            break;
          }
          case RnnCell::gru: {  // gates z and r, candidate h
            const Number update = gate(z[u] + products[u]);
            Number candidate = z[2 * U + u];
            if (reset_before) {
              candidate += recurrent_product(r, c, 2 * U + u);
            } else {
              candidate += gate(z[U + u] + products[U + u]) * products[2 * U + u];
            }
            h[u] = update * h[u] + (Number(1) - update) * act(candidate);
            break;
          }
        }
      }
      stepped = true;
    }
    shows_h = masked && r.zero_output_for_mask ? false : stepped;
    if (r.return_sequences) {
      for (std::int64_t u = threadIdx.x; u < U; u += blockDim.x) {
        store(r.output, (b * r.steps + i) * U + u, shows_h ? h[u] : Number{});
      }
    }
  }
  for (std::int64_t u = threadIdx.x; u < U; u += blockDim.x) {
    if (!r.return_sequences) store(r.output, b * U + u, shows_h ? h[u] : Number{});
    if (r.last[0].data != nullptr) store(r.last[0], b * U + u, h[u]);
    if (r.last[1].data != nullptr) store(r.last[1], b * U + u, c[u]);
  }
}

}  // namespace

std::int64_t rnn_scratch_bytes(const graph::Rnn& op, const Shape& x, const Shape& recurrent, DType dtype) {
  const std::int64_t units = recurrent[0], width = units * gates_of(op.cell);
  const std::int64_t numbers = Shape{x[0], x[1], width}.size() + x[0] * (width + 2 * units);
  return numbers * (dtype == DType::float64 ? 8 : 4);
}

Choice make_plain(const graph::Rnn& op, const Step& step) {
  const Shape& x = step.inputs[0].shape;
  Recurrence r;
  r.cell = op.cell;
  r.reset_after = op.reset_after;
  r.go_backwards = op.go_backwards;
  r.return_sequences = op.return_sequences;
  r.zero_output_for_mask = op.zero_output_for_mask;
  r.samples = x[0];
  r.steps = x[1];
  r.depth = x[2];
  r.units = step.inputs[2].shape[0];
  r.width = r.units * gates_of(op.cell);
  const int states = op.cell == RnnCell::lstm ? 2 : 1;
  std::size_t next = 0;
  r.x = array_of(step.inputs[next++]);
  r.kernel = array_of(step.inputs[next++]);
  r.recurrent_kernel = array_of(step.inputs[next++]);
  if (op.bias) r.bias = array_of(step.inputs[next++]);
  if (op.mask) r.mask = array_of(step.inputs[next++]);
  for (int state = 0; op.initial_state && state < states; ++state) r.initial[state] = array_of(step.inputs[next++]);
  r.output = array_of(step.outputs[0]);
  for (int state = 0; op.return_state && state < states; ++state) {
    r.last[state] = array_of(step.outputs[static_cast<std::size_t>(1 + state)]);
  }

  const std::int64_t parts = Shape{r.samples, r.steps, r.width}.size();
  step.scratch.reserve(rnn_scratch_bytes(op, x, step.inputs[2].shape, r.x.dtype));
  return {"plain", [r, parts, activation = op.activation, recurrent_activation = op.recurrent_activation,
                    &scratch = step.scratch](cudaStream_t stream) {
            with_float_of(r.x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              const auto work = Work<Number>::in(scratch.data, r);
              if (parts > 0) {
                check(launch(input_part_kernel<Number>, thread_each(parts), stream, r, work), "rnn input");
              }
              const LaunchShape shape{.grid = dim3(static_cast<unsigned>(r.samples)), .block = dim3(kBlockThreads)};
              check(launch(recurrence_kernel<Number>, shape, stream, r, work, function_of<Number>(activation),
                           function_of<Number>(recurrent_activation)),
                    "rnn");
            });
          }};
}

}  // namespace attn::cuda
