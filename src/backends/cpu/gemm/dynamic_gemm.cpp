#include "dynamic_gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/base/size.h"
#include "attn/plan/bytes.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Maximum depth of a section. That is 128 KB of a panel, and its accumulators form one chain of additions.
constexpr std::int64_t kMostDepth = 1024;
/// Maximum numbers of a block of rows of x, which stays in the L2 cache while the panels are read; minimum and maximum
/// rows of a block.
constexpr std::int64_t kBlockNumbers = 1 << 17, kLeastHeight = 48, kMostHeight = 240;
/// Maximum numbers of the panels that are packed together, which stay in the L3 cache.
constexpr std::int64_t kPackedNumbers = 1 << 22;
constexpr std::int64_t kPiecesPerThread = 4, kLeastPanels = 8;
/// Maximum numbers of y for which each block packs y itself instead of waiting; minimum rows per thread.
constexpr std::int64_t kPackedAlone = 1 << 14, kLeastRowsOfThread = 24;

std::int64_t count_of_parts(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }

std::int64_t depth_of_part(std::int64_t depth) { return count_of_parts(depth, count_of_parts(depth, kMostDepth)); }

std::int64_t rows_of_block(std::int64_t rows, std::int64_t depth) {
  const std::int64_t most = std::clamp(kBlockNumbers / depth_of_part(depth), kLeastHeight, kMostHeight);
  return count_of_parts(rows, count_of_parts(rows, most));
}

std::int64_t panels_at_a_time(std::int64_t width, std::int64_t depth) {
  const std::int64_t all = count_of_parts(width, kPanel);
  return std::min(all, std::max<std::int64_t>(1, kPackedNumbers / (depth_of_part(depth) * kPanel)));
}

/// Returns the row stride of a packed block, which avoids cache set conflicts between rows.
std::int64_t stride_of_rows(std::int64_t depth) {
  return (depth_of_part(depth) + kLanes - 1) / kLanes * kLanes + kLanes;
}

/// Returns whether blocks of x are packed: if rows of x would conflict in cache sets, or are not contiguous.
bool lays_out(const DynamicGemmSize& size) {
  constexpr std::int64_t kAlias = 1024;  // numbers in 4 KB
  return size.transpose_x || size.depth % kAlias == 0;
}

/// Returns the floats of a thread's scratch memory: a packed block of rows, and a panel.
std::int64_t numbers_of_thread(const DynamicGemmSize& size) {
  const std::int64_t block = lays_out(size) ? rows_of_block(size.rows, size.depth) * stride_of_rows(size.depth) : 0;
  return (block + depth_of_part(size.depth) * kPanel + kLanes - 1) / kLanes * kLanes;
}

std::int64_t numbers_packed(const DynamicGemmSize& size) {
  return panels_at_a_time(size.width, size.depth) * depth_of_part(size.depth) * kPanel;
}

/// to[i·stride + k] = x[k·row + i] for i < rows, k < depth.
ATTN_VECTORIZED(void, lay_out_columns, const float* x, std::int64_t row, std::int64_t rows, std::int64_t depth,
                float* to, std::int64_t stride) {
  std::int64_t i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    std::int64_t k = 0;
    for (; k + kLanes <= depth; k += kLanes) {
      Lanes block[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) load(x + (k + lane) * row + i, block[lane]);
      transpose(block);
      for (int lane = 0; lane < kLanes; ++lane) store(block[lane], to + (i + lane) * stride + k);
    }
    for (; k < depth; ++k)
      for (std::int64_t lane = 0; lane < kLanes; ++lane) to[(i + lane) * stride + k] = x[k * row + i + lane];
  }
  for (; i < rows; ++i)
    for (std::int64_t k = 0; k < depth; ++k) to[i * stride + k] = x[k * row + i];
}

}  // namespace

DynamicGemm::DynamicGemm(Engine& engine, const DynamicGemmSize& size, const graph::Unary& activation, bool residual)
    : engine_(engine),
      size_(size),
      is_relu_(is_plain_relu(activation)),
      adds_residual_(residual && (is_relu_ || activation.fn == graph::UnaryFn::linear)),
      finish_(is_relu_ ? graph::Unary{} : activation, residual && !adds_residual_),
      panels_(count_of_parts(size.width, kPanel)),
      depths_(count_of_parts(size.depth, kMostDepth)),
      most_depth_(depth_of_part(size.depth)),
      most_rows_(rows_of_block(size.rows, size.depth)),
      most_panels_(panels_at_a_time(size.width, size.depth)) {
  blocks_ = count_of_parts(size.rows, most_rows_);
  const bool is_small = panels_ * kPanel * size.depth <= kPackedAlone;
  packs_together_ = blocks_ > 1 && !is_small;
  // With few rows, the bandwidth of y limits the time.
  const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
  team_ = engine.team_for(2.0 * rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
  if (team_.threads > 1) {
    const std::int64_t wanted = count_of_parts(kPiecesPerThread * team_.threads, blocks_);
    groups_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most_panels_ / kLeastPanels));
    if (blocks_ == 1 && is_small) {
      // Each thread writes the rows that it reads in the next product, so that they are in its cache.
      blocks_ = std::clamp<std::int64_t>(size.rows / kLeastRowsOfThread, 1, team_.threads);
      groups_ = 1;
    }
    if (blocks_ * groups_ < team_.threads) groups_ = std::min(most_panels_, count_of_parts(team_.threads, blocks_));
  }
  start_.assign(static_cast<std::size_t>(panels_ * kPanel), 0.0F);
  laid_out_.resize(static_cast<std::size_t>(team_.threads));
  engine.scratch.reserve(scratch_bytes(size, team_.threads));
}

std::int64_t DynamicGemm::scratch_bytes(const DynamicGemmSize& size, int threads) {
  return plan::sum_of_bytes(
      {numbers_packed(size) * bytes_of(DType::float32), threads * numbers_of_thread(size) * bytes_of(DType::float32)});
}

std::int64_t DynamicGemm::held_bytes(const DynamicGemmSize& size) {
  const std::array factors{count_of_parts(size.width, kPanel), kPanel, bytes_of(DType::float32)};
  return checked_product(factors).value_or(kMaxSize);
}

void DynamicGemm::run(const float* x, const float* y, const float* bias, const float* residual, float* z) {
  if (bias != nullptr) std::copy_n(bias, size_.width, start_.begin());
  for (std::int64_t panel = 0; panel < panels_; panel += most_panels_) {
    for (std::int64_t d = 0; d < depths_; ++d) {
      const std::int64_t k = size_.depth * d / depths_, end = size_.depth * (d + 1) / depths_;
      run_part({k, end - k, panel, std::min(panel + most_panels_, panels_)}, {x, y, residual, z}, bias != nullptr);
    }
  }
}

void DynamicGemm::pack(const Part& part, const float* y, std::int64_t panel, float* to) const {
  const std::int64_t column = panel * kPanel, width = std::min(kPanel, size_.width - column);
  const View view = size_.transpose_y ? View{y + column * size_.depth + part.k, 1, size_.depth}
                                      : View{y + part.k * size_.width + column, size_.width, 1};
  pack_panel(view, part.depth, width, to);
}

void DynamicGemm::run_part(const Part& part, const Operands& on, bool biased) {
  const std::int64_t panels = part.last - part.first;
  std::ranges::fill(laid_out_, -1);
  if (packs_together_) {
    auto* const packed = reinterpret_cast<float*>(engine_.scratch.get());
    parallel_for(panels, team_,
                 [&](std::int64_t i, int) { pack(part, on.y, part.first + i, packed + i * part.depth * kPanel); });
  }
  parallel_for(blocks_ * groups_, team_,
               [&](std::int64_t piece, int thread) { run_piece(part, piece, thread, on, biased); });
}

void DynamicGemm::lay_out(const Part& part, std::int64_t first, std::int64_t rows, const float* x, float* to) const {
  const std::int64_t stride = stride_of_rows(size_.depth);
  if (size_.transpose_x) {
    lay_out_columns(x + part.k * size_.rows + first, size_.rows, rows, part.depth, to, stride);
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i)
    std::copy_n(x + (first + i) * size_.depth + part.k, part.depth, to + i * stride);
}

/// Multiplies a block of rows by a group of panels. The panels are packed now if they were not packed before.
void DynamicGemm::run_piece(const Part& part, std::int64_t piece, int thread, const Operands& on, bool biased) {
  const std::int64_t block = piece / groups_, group = piece % groups_, panels = part.last - part.first;
  const std::int64_t first = size_.rows * block / blocks_, rows = size_.rows * (block + 1) / blocks_ - first;
  const std::int64_t begin = part.first + panels * group / groups_, end = part.first + panels * (group + 1) / groups_;
  if (begin == end) return;
  auto* const packed = reinterpret_cast<float*>(engine_.scratch.get());
  float* const own = packed + numbers_packed(size_) + thread * numbers_of_thread(size_);
  View from{on.x + first * size_.depth + part.k, size_.depth, 1};
  if (lays_out(size_)) {
    if (std::exchange(laid_out_[static_cast<std::size_t>(thread)], block) != block)
      lay_out(part, first, rows, on.x, own);
    from = {own, stride_of_rows(size_.depth), 1};
  }
  float* const alone = own + (lays_out(size_) ? most_rows_ * stride_of_rows(size_.depth) : 0);
  const bool is_last = part.k + part.depth == size_.depth;
  const std::int64_t width = size_.width, at = first * width;
  for (std::int64_t p = begin; p < end; ++p) {
    const float* panel = alone;
    if (packs_together_) {
      panel = packed + (p - part.first) * part.depth * kPanel;
    } else {
      pack(part, on.y, p, alone);
    }
    const std::int64_t column = p * kPanel;
    multiply_panel({.x = from,
                    .panel = panel,
                    .rows = rows,
                    .depth = part.depth,
                    .y = on.z + at + column,
                    .stride = width,
                    .columns = std::min(kPanel, width - column),
                    .start = part.begins() && biased ? start_.data() + column : nullptr,
                    .adds = !part.begins(),
                    .fetches = packs_together_,
                    .out = {is_last && is_relu_, is_last && adds_residual_ ? on.residual + at + column : nullptr}});
  }
  if (!is_last || !finish_.is_needed()) return;
  const std::int64_t left = begin * kPanel, count = std::min(end * kPanel, width) - left;
  for (std::int64_t i = first; i < first + rows; ++i) {
    const std::int64_t place = i * width + left;
    finish_.run(on.residual == nullptr ? nullptr : on.residual + place, on.z + place, count);
  }
}

}  // namespace attn::backends::cpu
