// Layout changes: copies in units of up to 16 bytes, and transpositions through tiles in shared memory.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/range.h"
#include "copy.h"
#include "device.h"
#include "fast.h"
#include "fused.h"
#include "pack.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

/// Returns the axes with the strides of x and y, in elements, merged where possible.
Axes axes_of(const Operand& y, Steps x_steps) {
  return merged({y.shape.dims(), {std::move(x_steps), steps_of(y.shape)}});
}

/// Returns a copy of the runs that are contiguous in both x and y, in units as wide as runs and alignment allow. Empty
/// if such a unit is no wider than an element.
std::optional<Copy> wide_copy(const Axes& axes, const std::byte* from, std::byte* to, std::int64_t element) {
  if (axes.sizes.empty() || axes.steps[0].back() != 1 || axes.steps[1].back() != 1) return std::nullopt;
  Unit unit;
  unit.must_divide(from);
  unit.must_divide(to);
  unit.must_divide(axes.sizes.back() * element);
  for (std::size_t axis = 0; axis + 1 < axes.sizes.size(); ++axis) {
    unit.must_divide(axes.steps[0][axis] * element);
    unit.must_divide(axes.steps[1][axis] * element);
  }
  if (unit.bytes() <= element) return std::nullopt;
  Axes wide = axes;
  wide.sizes.back() = axes.sizes.back() * element / unit.bytes();
  for (Steps& steps : wide.steps) {
    for (std::size_t axis = 0; axis + 1 < steps.size(); ++axis) steps[axis] = steps[axis] * element / unit.bytes();
  }
  const auto walk = walk_over<2>(wide);
  if (!walk) return std::nullopt;
  return Copy{*walk, from, to, unit.bytes()};
}

Choice copy_choice(const Copy& copy) {
  return {"units of " + std::to_string(copy.unit) + " bytes",
          [copy](cudaStream_t stream) { launch_copy(copy, stream); }};
}

Choice make_wide_copy(const Operand& x, const Operand& y, Steps x_steps, std::int64_t start = 0) {
  const std::int64_t element = bytes_of(x.dtype);
  const auto copy = wide_copy(axes_of(y, std::move(x_steps)), x.data + start * element, y.data, element);
  return copy ? copy_choice(*copy) : Choice("wide copy: runs are single elements");
}

constexpr int kTile = 32;
constexpr int kTileRows = 8;  ///< rows that the threads of a block move at once

/// Transposes matrices, one per element of the walk: y[column·y_step + row] = x[row·x_step + column]. Columns are
/// contiguous in x, rows in y.
template <typename Word>
struct Tiling {
  Walk<2> matrices;
  const Word* x = nullptr;
  Word* y = nullptr;
  std::int64_t rows = 0, columns = 0, x_step = 0, y_step = 0;
  std::int64_t row_tiles = 0, column_tiles = 0;
};

template <typename Word>
__global__ void __launch_bounds__(kTile* kTileRows) transpose_kernel(Tiling<Word> t) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  Word* const tile = shared_memory<Word>();  // (kTile, kTile + 1): the odd width spreads a column over the banks
  const Divided tile_place = divide(blockIdx.x, t.column_tiles), matrix = divide(tile_place.quotient, t.row_tiles);
  const auto start = t.matrices.at(matrix.quotient);
  const std::int64_t row = matrix.remainder * kTile, column = tile_place.remainder * kTile;
  const int lane = lane_index(), first = static_cast<int>(threadIdx.x) / kWarpThreads;
#pragma unroll
  for (int j = first; j < kTile; j += kTileRows) {
    if (row + j < t.rows && column + lane < t.columns) {
      tile[j * (kTile + 1) + lane] = t.x[start.of[0] + (row + j) * t.x_step + column + lane];
    }
  }
  __syncthreads();
#pragma unroll
  for (int j = first; j < kTile; j += kTileRows) {
    if (column + j < t.columns && row + lane < t.rows) {
      t.y[start.of[1] + (column + j) * t.y_step + row + lane] = tile[lane * (kTile + 1) + j];
    }
  }
}

Choice make_tiled(const Axes& axes, const Operand& x, const Operand& y) {
  // y's last axis is a row of the matrices; x's axis with stride 1 is a column.
  const std::size_t last = axes.sizes.size() - 1;
  std::size_t inner = 0;
  while (inner < last && axes.steps[0][inner] != 1) ++inner;
  if (inner == last) return Choice("transposition by tiles: no axis of step 1");
  Axes others{{}, {{}, {}}};
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (axis == inner) continue;
    others.sizes.push_back(axes.sizes[axis]);
    others.steps[0].push_back(axes.steps[0][axis]);
    others.steps[1].push_back(axes.steps[1][axis]);
  }
  const auto matrices = walk_over<2>(others);
  if (!matrices) return Choice("transposition by tiles: too many axes");
  const Dim rows = axes.sizes[last], columns = axes.sizes[inner];
  const std::int64_t x_step = axes.steps[0][last], y_step = axes.steps[1][inner];
  return {"tiles", [=, walk = *matrices, from = x.data, to = y.data, dtype = x.dtype](cudaStream_t stream) {
            with_bytes_of(dtype, [&](auto zero) {
              using Word = decltype(zero);
              Tiling<Word> tiling{
                  walk,  reinterpret_cast<const Word*>(from), reinterpret_cast<Word*>(to), rows, columns, x_step,
                  y_step};
              tiling.row_tiles = (rows + kTile - 1) / kTile;
              tiling.column_tiles = (columns + kTile - 1) / kTile;
              const std::int64_t blocks = walk.count * tiling.row_tiles * tiling.column_tiles;
              const LaunchShape shape{.grid = dim3(static_cast<unsigned>(blocks)),
                                      .block = dim3(kTile * kTileRows),
                                      .shared_bytes = kTile * (kTile + 1) * sizeof(Word)};
              check(launch(transpose_kernel<Word>, shape, stream, tiling), "transpose");
            });
          }};
}

constexpr int kMaxParts = 16;

/// Concatenation of parts (rows, widths) along columns to y (rows, width), in units.
struct Parts {
  const std::byte* from[kMaxParts] = {};
  std::int64_t starts[kMaxParts + 1] = {};  ///< the first column of each part in y, and the width of y
  int count = 0;
  std::int64_t rows = 0;
  std::byte* to = nullptr;
};

template <typename Word>
__global__ void __launch_bounds__(kBlockThreads) concat_kernel(Parts parts) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index(), width = parts.starts[parts.count];
  if (i >= parts.rows * width) return;
  const auto [row, column] = divide(i, width);
  int part = 0;
  while (column >= parts.starts[part + 1]) ++part;
  const std::int64_t part_width = parts.starts[part + 1] - parts.starts[part];
  reinterpret_cast<Word*>(parts.to)[i] =
      reinterpret_cast<const Word*>(parts.from[part])[row * part_width + column - parts.starts[part]];
}

template <typename T, int kVector>
__global__ void __launch_bounds__(kBlockThreads) gather_add_kernel(GatherAddStep step, std::int64_t packs) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= step.count * packs) return;
  const Divided place = divide(i, packs);
  const std::int64_t column = place.remainder * kVector;
  const auto index = load<std::int64_t>(step.indices, place.quotient);
  const std::int64_t row = index < 0 ? index + step.size : index;
  float numbers[kVector], positions[kVector];
  if (row >= 0 && row < step.size) {
    load_pack(reinterpret_cast<const T*>(step.table) + row * step.columns + column, numbers);
  } else {
    step.report(Fault::index_out_of_range, index, step.size);
#pragma unroll
    for (int j = 0; j < kVector; ++j) numbers[j] = 0.0F;
  }
  const std::int64_t position = divide(place.quotient, step.period).remainder;
  load_pack(reinterpret_cast<const T*>(step.position) + position * step.columns + column, positions);
#pragma unroll
  for (int j = 0; j < kVector; ++j) numbers[j] += positions[j];
  store_pack(reinterpret_cast<T*>(step.y) + place.quotient * step.columns + column, numbers);
}

}  // namespace

void launch_gather_add(const GatherAddStep& step, cudaStream_t stream) {
  with_stored(step.dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kVector = kPack<T>;
    const bool packed =
        step.columns % kVector == 0 && is_aligned(step.table) && is_aligned(step.position) && is_aligned(step.y);
    const std::int64_t packs = packed ? step.columns / kVector : step.columns;
    LaunchShape shape = thread_each(step.count * packs);
    if (packed) {
      check(launch(gather_add_kernel<T, kVector>, shape, stream, step, packs), "gather");
    } else {
      check(launch(gather_add_kernel<T, 1>, shape, stream, step, packs), "gather");
    }
  });
}

Choice make_fast(const graph::Transpose& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  const Steps steps = steps_of(x.shape);
  Steps permuted;
  for (const int axis : op.permutation) permuted.push_back(steps[static_cast<std::size_t>(axis)]);
  const Axes axes = axes_of(y, std::move(permuted));
  if (axes.sizes.empty()) return Choice("wide copy: a single element");
  if (axes.steps[0].back() != 1) return make_tiled(axes, x, y);
  const auto copy = wide_copy(axes, x.data, y.data, bytes_of(x.dtype));
  return copy ? copy_choice(*copy) : Choice("wide copy: runs of no more than an element can be moved at once");
}

Choice make_fast(const graph::Broadcast&, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  return make_wide_copy(x, y, broadcast_steps(x.shape, y.shape));
}

Choice make_fast(const graph::Slice& op, const Step& step) {
  const PickedSteps picked = picked_steps(op, step.inputs[0].shape);
  return make_wide_copy(step.inputs[0], step.outputs[0], picked.steps, picked.start);
}

Choice make_fast(const graph::Concat& op, const Step& step) {
  const Operand& y = step.outputs[0];
  if (step.inputs.size() > kMaxParts) return Choice("concatenation in one kernel: more than 16 inputs");
  Parts parts;
  Unit unit;
  unit.must_divide(y.data);
  parts.to = y.data;
  parts.rows = y.shape.slice(0, op.axis).size();
  for (const Operand& x : step.inputs) {
    const std::int64_t bytes = x.bytes() / parts.rows;
    unit.must_divide(x.data);
    unit.must_divide(bytes);
    parts.from[parts.count] = x.data;
    parts.starts[parts.count + 1] = parts.starts[parts.count] + bytes;
    ++parts.count;
  }
  for (std::int64_t& start : parts.starts) start /= unit.bytes();
  const std::int64_t units = parts.rows * parts.starts[parts.count];
  return {"one kernel, units of " + std::to_string(unit.bytes()) + " bytes",
          [=, bytes = unit.bytes()](cudaStream_t stream) {
            LaunchShape shape = thread_each(units);
            with_unit(bytes, [&](auto zero) {
              check(launch(concat_kernel<decltype(zero)>, shape, stream, parts), "concatenation");
            });
          }};
}

Choice make_fast(const graph::Gather& op, const Step& step) {
  const Operand &table = step.inputs[0], &y = step.outputs[0];
  const std::int64_t element = bytes_of(table.dtype);
  Unit unit;
  unit.must_divide(table.data);
  unit.must_divide(y.data);
  unit.must_divide(table.shape.slice(op.axis + 1, table.shape.rank()).size() * element);
  if (unit.bytes() <= element) return Choice("wide gather: runs of no more than an element can be moved at once");
  GatherPlan plan = gather_plan(op, step, unit.bytes());
  return {"units of " + std::to_string(unit.bytes()) + " bytes",
          [plan](cudaStream_t stream) { launch_gather(plan, stream); }};
}

}  // namespace attn::cuda
