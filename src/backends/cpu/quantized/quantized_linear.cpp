// Dense maps with quantized weights. Quantized rows are multiplied by int8 dot products. Float rows are multiplied by
// integers that are widened as they are read.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "byte_rows.h"
#include "fixed_point_gemv.h"
#include "gemm/panels.h"
#include "gemm/product.h"
#include "int8_dots.h"
#include "int8_table_gemv.h"
#include "integer_panels.h"
#include "integer_sums.h"
#include "kernel.h"
#include "quantized_scratch.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::QuantizedLinear;

/// Work items per thread. For many rows an item is a single panel, so that other threads can do the work of a preempted
/// thread.
constexpr std::int64_t kPiecesPerThread = 16, kPiecesOfFewRows = 4, kFewRows = 16;

/// Returns whether the weight is used as stored, without a packed copy.
bool is_by_stored_table(const QuantizedLinear& op, std::int64_t rows) {
  return is_by_dots(op) && op.transposed && rows <= kMostTableRows && has_int8_table_gemv();
}

Layout integer_layout(const StepInfo& step) {
  return {Layout::Kind::integers, step.inputs[1].dtype, 1 + static_cast<int>(integer_form(step.op<QuantizedLinear>()))};
}

/// Returns the bytes of the packed panels, including the sums of their columns.
std::int64_t packed_bytes(const QuantizedLinear& op, const QuantizedSize& size) {
  const std::int64_t sums = kPanel * bytes_of(DType::int32);
  return bytes_times({size.panels(), integer_panel_bytes(integer_form(op), size.depth) + sums});
}

std::size_t group_input(const QuantizedLinear& op) { return op.grouped ? 4 : 2; }

/// Prefetches a row's columns of a panel into the L1 cache.
void fetch_columns(const float* y) {
  __builtin_prefetch(y);
  __builtin_prefetch(y + kLanes);
}

class QuantizedProduct final : public Kernel {
 public:
  explicit QuantizedProduct(const Step& step)
      : op_(step.op<QuantizedLinear>()),
        size_(quantized_size(step)),
        form_(integer_form(op_)),
        is_signed_(step.inputs[1].dtype == DType::int8),
        writes_residual_(op_.residual && op_.activation.fn == graph::UnaryFn::linear),
        finish_(op_.activation, op_.residual && !writes_residual_),
        engine_(step.engine),
        dots_(int8_dots(engine_.multiplication.tiles)),
        handover_(step.handover),
        x_(step.inputs[0]),
        residual_(step.inputs.back()),
        y_(step.outputs[0]) {
    read_scales(step);
    if (is_by_stored_table(op_, size_.rows)) {
      table_ = step.fixed[1];
      find_starts(sums_of_table());
    } else {
      Packed& shared = step.packed(1, op_.transposed)[integer_layout(step)];
      if (!shared.bytes) shared.bytes = pack(step.fixed[1]);
      packed_ = shared.bytes;
      if (form_ == IntegerForm::quads)
        find_starts(reinterpret_cast<const std::int32_t*>(packed_.get() + size_.panels() * panel_bytes()));
    }
    takes_digits_ = size_.rows <= kMostFixedPointRows && has_fixed_point_gemv(form_, size_.depth, groups_of(0));
    const auto rows = static_cast<double>(std::max<std::int64_t>(size_.rows, 8));
    team_ = engine_.team_for(rows * static_cast<double>(size_.depth) * static_cast<double>(size_.width));
    const std::int64_t block_rows = leaves() ? CachedBlocks(size_).rows : kMostBlockRows;
    blocks_ = (size_.rows + block_rows - 1) / block_rows;
    const bool is_whole = team_.threads == 1 || leaves();
    const std::int64_t pieces = team_.threads * (size_.rows < kFewRows ? kPiecesOfFewRows : kPiecesPerThread);
    const std::int64_t wanted = is_whole ? 1 : (pieces + blocks_ - 1) / blocks_;
    groups_ = std::clamp<std::int64_t>(wanted, 1, size_.panels());
    engine_.scratch.reserve(QuantizedScratch(op_, size_, engine_.threads).total);
  }

  void run() override {
    const QuantizedScratch scratch(op_, size_, engine_.threads);
    if (form_ == IntegerForm::quads) return run_on_bytes(scratch);
    std::byte* const rows = engine_.scratch.get();
    auto* const scales = reinterpret_cast<float*>(rows + scratch.rows);
    const auto* const x = x_.data<float>();
    const bool copies = op_.inputs || !order_.empty();
    std::byte* const digits = rows + scratch.rows + scratch.scales;
    std::atomic<bool> is_split = takes_digits_;
    if (copies || takes_digits_) {
      parallel_for(size_.rows, team_, [&](std::int64_t i, int) {
        const float* row = x + i * size_.depth;
        if (copies) {
          auto* const copy = reinterpret_cast<float*>(rows + i * scratch.row_bytes);
          scales[i] = prepare_row(row, copy);
          row = copy;
        }
        if (takes_digits_ && !to_fixed_point(form_, row, groups_of(0), digits + i * scratch.row_digits))
          is_split = false;
      });
    }
    each_piece(scratch, [&](Piece& part) {
      const std::int64_t first = part.first;
      part.x = copies ? rows + first * scratch.row_bytes : reinterpret_cast<const std::byte*>(x + first * size_.depth);
      part.row_x = copies ? scratch.row_bytes : size_.depth * bytes_of(DType::float32);
      part.scales = op_.inputs ? scales + first : nullptr;
      part.digits = is_split ? digits : nullptr;
      part.row_digits = scratch.row_digits;
      run_piece(part);
    });
  }

  [[nodiscard]] std::string_view name() const override {
    if (is_table()) return "integers as stored, by AVX512-VNNI";
    if (form_ == IntegerForm::quads) return dots_.name;
    if (takes_digits_) return form_ == IntegerForm::bytes ? "bytes by AVX512-VNNI" : "nibbles by AVX512-VNNI";
    return form_ == IntegerForm::bytes ? "bytes, widened" : "nibbles, widened";
  }
  [[nodiscard]] std::int64_t bytes() const override {
    return (is_table() ? 0 : packed_bytes(op_, size_)) + own_bytes();
  }

 private:
  struct Piece {
    std::int64_t first, rows, begin, end;  // range of rows, and of panels
    const std::byte* x = nullptr;
    std::int64_t row_x = 0;  // row stride in bytes
    const float* scales = nullptr;
    const std::byte* digits = nullptr;  // the decomposed rows, or null
    std::int64_t row_digits = 0;        // stride of decomposed rows in bytes
    std::byte* sums = nullptr;
    float* y = nullptr;  // the first row of the output
    std::int64_t stride = 0;
  };

  [[nodiscard]] bool leaves() const { return handover_.leaves != nullptr; }

  void run_on_bytes(const QuantizedScratch& scratch) const {
    ByteRows x(handover_.takes == nullptr ? engine_.scratch.get() : handover_.takes->get(), size_.rows, size_.depth);
    if (handover_.takes == nullptr) {
      parallel_for(size_.rows, team_,
                   [&](std::int64_t i, int) { x.take(i, x_.data<float>() + i * size_.depth, *op_.inputs); });
    }
    const ByteRows left = leaves() ? ByteRows(handover_.leaves->get(), size_.rows, size_.width) : ByteRows();
    each_piece(scratch, [&](Piece& part) {
      part.x = reinterpret_cast<const std::byte*>(x.row(part.first));
      part.row_x = x.stride();
      part.scales = x.scales(part.first);
      run_piece(part);
      if (!leaves()) return;
      for (std::int64_t i = 0; i < part.rows; ++i)
        left.take(part.first + i, part.y + i * part.stride, *handover_.range);
    });
  }

  /// Calls run(piece) for each block of rows and group of panels, on all threads.
  template <typename Run>
  void each_piece(const QuantizedScratch& scratch, const Run& run) const {
    std::byte* const behind_rows = engine_.scratch.get() + scratch.rows + scratch.scales + scratch.digits;
    parallel_for(blocks_ * groups_, team_, [&](std::int64_t piece, int thread) {
      const std::int64_t block = piece / groups_, group = piece % groups_;
      const std::int64_t first = size_.rows * block / blocks_, last = size_.rows * (block + 1) / blocks_;
      Piece part{first, last - first, size_.panels() * group / groups_, size_.panels() * (group + 1) / groups_};
      part.sums = behind_rows + thread * scratch.thread;
      part.y = leaves() ? reinterpret_cast<float*>(part.sums + scratch.left) : y_.data<float>() + first * size_.width;
      part.stride = leaves() ? CachedBlocks(size_).stride : size_.width;
      run(part);
    });
  }

  [[nodiscard]] std::int64_t own_bytes() const {
    const auto groups = op_.grouped ? static_cast<std::int64_t>(ends_.size()) : 0;
    return static_cast<std::int64_t>((scale_.size() + bias_.size() + starts_.size()) * sizeof(float) +
                                     (ends_.size() + order_.size()) * sizeof(std::int64_t)) +
           bytes_times({2, size_.panels(), groups, kPanel, bytes_of(DType::float32)});
  }
  [[nodiscard]] bool is_table() const { return table_.data() != nullptr; }
  [[nodiscard]] std::int64_t panel_bytes() const { return integer_panel_bytes(form_, size_.depth); }
  [[nodiscard]] const std::byte* panel(std::int64_t p) const { return packed_.get() + p * panel_bytes(); }

  /// Reads scales and zero points by panel, group and column. Missing columns have scale 1 and zero point 0.
  void read_scales(const Step& step) {
    const std::int64_t panels = size_.panels();
    const auto column = [](std::int64_t p, std::int64_t j) { return p * kPanel + j; };
    const Tensor& scale = step.fixed[2];
    if (op_.bias) {
      const auto* const bias = step.fixed[group_input(op_) + 1].as<float>().data();
      bias_.assign(bias, bias + size_.width);
    }
    if (!op_.grouped) {
      scale_.assign(static_cast<std::size_t>(panels * kPanel), 1.0F);
      for (std::int64_t m = 0; m < size_.width; ++m) scale_[static_cast<std::size_t>(m)] = scale.as<float>()[m];
      ends_ = {size_.depth};
      return;
    }
    const Dim count = scale.shape()[op_.transposed ? 1 : 0];
    find_groups(step.fixed[4], count);
    const auto groups = static_cast<std::int64_t>(ends_.size());
    constants_ = engine_.weights.allocate(bytes_times({2, panels, groups, kPanel, bytes_of(DType::float32)}));
    auto* const scales = reinterpret_cast<float*>(constants_.get());
    float* const zeros = scales + panels * groups * kPanel;
    for (std::int64_t p = 0; p < panels; ++p) {
      for (std::int64_t g = 0; g < groups; ++g) {
        for (std::int64_t j = 0; j < kPanel && column(p, j) < size_.width; ++j) {
          const std::int64_t group = named_[static_cast<std::size_t>(g)];
          const std::int64_t from = op_.transposed ? column(p, j) * count + group : group * size_.width + column(p, j);
          const std::int64_t to = (p * groups + g) * kPanel + j;
          scales[to] = scale.as<float>()[from];
          const auto zero = static_cast<float>(step.fixed[3].at(from));
          zeros[to] = zero;
          is_whole_ = is_whole_ && std::abs(zero) <= kMostWhole && std::nearbyint(zero) == zero;
        }
      }
    }
  }

  /// Derives the groups of the depth: the end of each group, and the permutation that makes its rows contiguous.
  void find_groups(const Tensor& groups, Dim count) {
    std::vector<std::int64_t> of(static_cast<std::size_t>(size_.depth));
    for (std::int64_t k = 0; k < size_.depth; ++k) {
      const std::int64_t group = groups.as<std::int32_t>()[k];
      if (group < 0 || group >= count) throw bad_input("group {} of a weight's rows is not below {}", group, count);
      of[static_cast<std::size_t>(k)] = group;
    }
    std::vector<std::int64_t> order(of.size());
    std::iota(order.begin(), order.end(), 0);
    if (!std::is_sorted(of.begin(), of.end())) {
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return of[static_cast<std::size_t>(a)] < of[static_cast<std::size_t>(b)];
      });
      order_ = order;
    }
    for (std::int64_t i = 0; i < size_.depth; ++i) {
      const std::int64_t group = of[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
      if (named_.empty() || named_.back() != group) {
        named_.push_back(group);
        ends_.push_back(i);
      }
      ends_.back() = i + 1;
    }
  }

  std::shared_ptr<std::byte> pack(const Tensor& weight) {
    const std::int64_t panels = size_.panels();
    std::shared_ptr<std::byte> out = engine_.weights.allocate(packed_bytes(op_, size_));
    auto* const sums = reinterpret_cast<std::int32_t*>(out.get() + panels * panel_bytes());
    const StoredIntegers from{reinterpret_cast<const std::uint8_t*>(weight.data()),
                              size_.depth,
                              size_.width,
                              is_signed_,
                              op_.transposed,
                              op_.pairs};
    parallel_for(
        panels, engine_.team_for(4.0 * static_cast<double>(size_.depth * size_.width)), [&](std::int64_t p, int) {
          pack_integer_panel(form_, from, order_, p * kPanel, out.get() + p * panel_bytes(), sums + p * kPanel);
        });
    return out;
  }

  /// Computes the initial accumulators: rows are offset by 128, so sums exceed the result by 128 times the column sums.
  void find_starts(const std::int32_t* sums) {
    constexpr std::int32_t kOffset = 128;
    const std::int64_t count = size_.panels() * kPanel;
    starts_.resize(static_cast<std::size_t>(count));
    for (std::int64_t m = 0; m < count; ++m) starts_[static_cast<std::size_t>(m)] = -kOffset * sums[m];
  }

  /// Computes the column sums from the rows of the table, and returns them in starts_.
  const std::int32_t* sums_of_table() {
    starts_.assign(static_cast<std::size_t>(size_.panels() * kPanel), 0);
    parallel_for(size_.panels(), engine_.team_for(static_cast<double>(size_.depth * size_.width)),
                 [&](std::int64_t p, int) {
                   for (std::int64_t m = p * kPanel; m < p * kPanel + columns(p); ++m) {
                     const std::int8_t* const row = table_row(m);
                     starts_[static_cast<std::size_t>(m)] = std::accumulate(row, row + size_.depth, 0);
                   }
                 });
    return starts_.data();
  }
  [[nodiscard]] const std::int8_t* table_row(std::int64_t m) const {
    return reinterpret_cast<const std::int8_t*>(table_.data()) + m * size_.depth;
  }

  float prepare_row(const float* x, float* row) const {
    if (order_.empty()) return quantize_row(x, size_.depth, *op_.inputs, row);
    for (std::size_t i = 0; i < order_.size(); ++i) row[i] = x[order_[i]];
    return op_.inputs ? quantize_row(row, size_.depth, *op_.inputs, row) : 1.0F;
  }

  void run_piece(const Piece& piece) const {
    const float* const residual = op_.residual ? residual_.data<float>() + piece.first * size_.width : nullptr;
    for (std::int64_t p = piece.begin; p < piece.end; ++p) {
      const AddedTerms added{bias_.empty() ? nullptr : bias_.data() + p * kPanel,
                             writes_residual_ ? residual + p * kPanel : nullptr};
      if (form_ == IntegerForm::quads) {
        by_dots(piece, p, added, piece.y + p * kPanel);
      } else {
        by_floats(piece, p, added, piece.y + p * kPanel);
      }
    }
    if (!finish_.is_needed()) return;
    const std::int64_t column = piece.begin * kPanel, count = std::min(size_.width, piece.end * kPanel) - column;
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      const float* const more = residual == nullptr ? nullptr : residual + i * size_.width + column;
      finish_.run(more, piece.y + i * piece.stride + column, count);
    }
  }

  [[nodiscard]] PanelGroups groups_of(std::int64_t p) const {
    const auto count = static_cast<std::int64_t>(ends_.size()), at = p * count * kPanel;
    PanelGroups groups{ends_.data(), count, nullptr, nullptr, is_whole_};
    if (op_.grouped) {
      groups.scale = reinterpret_cast<const float*>(constants_.get()) + at;
      groups.zero = groups.scale + size_.panels() * count * kPanel;
    }
    return groups;
  }
  [[nodiscard]] std::int64_t columns(std::int64_t p) const { return std::min(kPanel, size_.width - p * kPanel); }

  void by_dots(const Piece& piece, std::int64_t p, const AddedTerms& added, float* y) const {
    auto* const sums = reinterpret_cast<std::int32_t*>(piece.sums);
    const auto* const x = reinterpret_cast<const std::uint8_t*>(piece.x);
    const std::int32_t* const starts = starts_.data() + p * kPanel;
    if (is_table()) {
      multiply_table(x, piece.row_x, piece.rows, table_row(p * kPanel), size_.depth, columns(p), starts, sums);
      return write_products(sums, scale_.data() + p * kPanel, piece.scales, piece.rows, added, y, piece.stride,
                            columns(p));
    }
    // Splits the rows into groups of the optimal number per call, and prefetches the lines of y for each group.
    const std::int64_t groups = (piece.rows + dots_.rows - 1) / dots_.rows;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = piece.rows * group / groups, count = piece.rows * (group + 1) / groups - first;
      float* const to = y + first * piece.stride;
      const float* const residual = added.residual == nullptr ? nullptr : added.residual + first * piece.stride;
      for (std::int64_t i = 0; i < count; ++i) {
        fetch_columns(to + i * piece.stride);
        if (residual != nullptr) fetch_columns(residual + i * piece.stride);
      }
      dots_.run(x + first * piece.row_x, piece.row_x, count, reinterpret_cast<const std::uint8_t*>(panel(p)),
                quads_of(size_.depth), starts, sums);
      write_products(sums, scale_.data() + p * kPanel, piece.scales + first, count, {added.bias, residual}, to,
                     piece.stride, columns(p));
    }
  }

  void by_floats(const Piece& piece, std::int64_t p, const AddedTerms& added, float* y) const {
    auto* const sums = reinterpret_cast<float*>(piece.sums);
    const auto* const x = reinterpret_cast<const float*>(piece.x);
    const std::int64_t row_x = piece.row_x / bytes_of(DType::float32);
    const PanelGroups groups = groups_of(p);
    if (piece.digits != nullptr) {
      multiply_fixed_point(form_, is_signed_, piece.digits, piece.row_digits, piece.rows, panel(p), groups, sums);
    } else if (piece.rows <= kFewIntegerRows) {
      multiply_integers(form_, is_signed_, x, row_x, piece.rows, panel(p), groups, sums);
    } else {
      float* const wide = sums + kMostBlockRows * kPanel;
      widen_integers(form_, is_signed_, panel(p), groups, wide);
      multiply_panel(
          {.x = {x, row_x, 1}, .panel = wide, .rows = piece.rows, .depth = size_.depth, .y = sums, .stride = kPanel});
    }
    // If the weight was rounded and the activations quantized, the column scale is the weight's; the result is divided
    // by both.
    const float* const scale = op_.grouped ? nullptr : scale_.data() + p * kPanel;
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      const std::int64_t at_row = i * size_.width;
      write_sums(sums + i * kPanel, scale, piece.scales == nullptr ? 1.0F : piece.scales[i],
                 {added.bias, added.residual == nullptr ? nullptr : added.residual + at_row}, y + at_row, columns(p));
    }
  }

  QuantizedLinear op_;
  QuantizedSize size_;
  IntegerForm form_;
  bool is_signed_;
  bool writes_residual_;  // whether the residual is added as sums are converted; otherwise it follows the activation
  bool is_whole_ = true;  // whether the zero points are integers
  bool takes_digits_ = false;
  Finish finish_;
  Engine& engine_;
  const Int8Dots& dots_;
  Handover handover_;
  Operand x_, residual_, y_;
  std::vector<float> scale_, bias_;
  std::shared_ptr<std::byte> constants_;  // the groups' scales, then their zero points
  std::vector<std::int64_t> ends_, named_, order_;
  std::vector<std::int32_t> starts_;
  std::shared_ptr<std::byte> packed_;
  Tensor table_;  // the weight as stored, used instead of a packed weight
  Team team_;
  std::int64_t blocks_ = 1, groups_ = 1;
};

std::string why_not_quantized(const StepInfo& step) {
  const auto& op = step.op<QuantizedLinear>();
  for (std::size_t i = 1; i <= group_input(op) + (op.bias ? 1 : 0); ++i)
    if (!step.is_fixed(i))
      return i == 1 ? "the kernel is not a weight" : "a scale, a zero point or the bias is not a weight";
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
    if (step.inputs[i].dtype != DType::float32) return "it is not float32";
  const bool has_empty = std::ranges::any_of(step.inputs, [](const Operand& input) { return input.size() == 0; });
  if (has_empty) return "an input has no elements";
  if (is_by_dots(op) && step.inputs[1].dtype != DType::int8) return "its bytes are unsigned";
  return "";
}

MemoryNeeds quantized_needs(const StepInfo& step) {
  const auto& op = step.op<QuantizedLinear>();
  const QuantizedSize size = quantized_size(step);
  MemoryNeeds needs;
  const bool is_table = is_by_stored_table(op, size.rows);
  if (!is_table) needs.packs.push_back({1, op.transposed, integer_layout(step), packed_bytes(op, size)});
  needs.held = bytes_times({size.panels(), kPanel, 2 * size.groups + 2, bytes_of(DType::float32)}) +
               bytes_times({2 * (size.groups + size.depth), bytes_of(DType::int64)});
  needs.scratch = QuantizedScratch(op, size, step.machine.threads).total;
  needs.copied.assign(step.inputs.size(), false);
  // The scales, zero points and bias are kept. An executable for another shape may find the packed weight in the store,
  // and then reads them.
  needs.copied[1] = !is_table;
  return needs;
}

}  // namespace

std::optional<ProducedRows> rows_of_quantized(const StepInfo& step) {
  if (!why_not_quantized(step).empty()) return std::nullopt;
  const QuantizedSize size = quantized_size(step);
  if (!leaves_rows(step.op<QuantizedLinear>(), size, step.machine.threads)) return std::nullopt;
  return ProducedRows{size.rows, size.width, /*in_place_of_output=*/true};
}

std::optional<ConsumedRows> rows_for_quantized(const StepInfo& step) {
  const auto& op = step.op<QuantizedLinear>();
  if (!is_by_dots(op) || !why_not_quantized(step).empty()) return std::nullopt;
  const QuantizedSize size = quantized_size(step);
  return ConsumedRows{size.rows, size.depth, *op.inputs};
}

Kernels kernels_of(const QuantizedLinear&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::any, why_not_quantized, quantized_needs, make_as<QuantizedProduct>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
