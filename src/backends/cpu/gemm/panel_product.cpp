#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "panels.h"
#include "product.h"

namespace attn::backends::cpu {
namespace {

/// Work items per thread. There are enough that a preempted thread leaves little work, and no thread waits long for the
/// last item.
constexpr std::int64_t kPiecesPerThread = 4;

/// Maximum numbers of a block of rows of x, which stays in the L2 cache while the panels are read; minimum and maximum
/// rows of a block. kMostPanels limits the panels per work item, so that its results are still in that cache for the
/// epilogue.
constexpr std::int64_t kBlock = 1 << 20, kLeastRows = 48, kMostRows = 240, kMostPanels = 4;

std::int64_t parts_of(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }

Layout layout_of(DType weights) { return {Layout::Kind::panels, weights}; }

/// Returns the bytes of one float32 panel per thread, for widening half-precision panels.
std::int64_t widened_panels(const Product::Size& size, std::int64_t threads) {
  const std::array factors{threads, size.depth, kPanel, bytes_of(DType::float32)};
  return checked_product(factors).value_or(kMaxSize);
}

class PanelProduct final : public Product {
 public:
  PanelProduct(Engine& engine, const Size& size, const Weights& weights, const Fusion& fusion)
      : size_(size),
        is_relu_(is_plain_relu(fusion.activation)),
        adds_residual_(fusion.residual && (is_relu_ || fusion.activation.fn == graph::UnaryFn::linear)),
        finish_(is_relu_ ? graph::Unary{} : fusion.activation, fusion.residual && !adds_residual_),
        engine_(engine),
        dtype_(weights.dtype) {
    panels_ = parts_of(size.width, kPanel);
    Packed unshared;
    Packed& shared = weights.packed == nullptr ? unshared : (*weights.packed)[layout_of(dtype_)];
    if (!shared.bytes) shared.bytes = pack(weights);
    weights_ = shared.bytes;
    start_.assign(static_cast<std::size_t>(panels_ * kPanel), 0.0F);
    if (fusion.bias != nullptr) std::copy_n(static_cast<const float*>(fusion.bias), size.width, start_.begin());
    // With few rows, the bandwidth of the weights limits the time.
    const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
    team_ = engine.team_for(2.0 * rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
    blocks_ = parts_of(size.rows, std::clamp(kBlock / size.depth, kLeastRows, kMostRows));
    const std::int64_t wanted = team_.threads == 1 ? 1 : parts_of(kPiecesPerThread * team_.threads, blocks_);
    groups_ = std::min(panels_, std::max(parts_of(panels_, kMostPanels), wanted));
    if (is_half()) engine.scratch.reserve(widened_panels(size, team_.threads));
  }

  void run(const void* x, const void* residual, void* y) override {
    parallel_for(blocks_ * groups_, team_, [&](std::int64_t piece, int thread) {
      const std::int64_t block = piece / groups_, group = piece % groups_;
      const Piece part{size_.rows * block / blocks_, size_.rows * (block + 1) / blocks_, panels_ * group / groups_,
                       panels_ * (group + 1) / groups_};
      run_piece(part, static_cast<const float*>(x), static_cast<const float*>(residual), static_cast<float*>(y),
                wide_panel(thread));
    });
  }

  [[nodiscard]] std::string_view name() const override {
    return dtype_ == DType::bfloat16 ? "panels of bfloat16" : dtype_ == DType::float16 ? "panels of float16" : "panels";
  }
  [[nodiscard]] std::int64_t bytes() const override {
    return packed_bytes_ + panels_ * kPanel * bytes_of(DType::float32);
  }

 private:
  [[nodiscard]] bool is_half() const { return dtype_ != DType::float32; }
  [[nodiscard]] std::int64_t panel_bytes() const { return size_.depth * kPanel * bytes_of(dtype_); }

  std::shared_ptr<std::byte> pack(const Weights& weights) {
    packed_bytes_ = panels_ * panel_bytes();
    std::shared_ptr<std::byte> packed = engine_.weights.allocate(packed_bytes_);
    parallel_for(panels_, engine_.team_for(static_cast<double>(2 * packed_bytes_)), [&](std::int64_t p, int) {
      const std::int64_t column = p * kPanel, width = std::min(kPanel, size_.width - column);
      std::byte* const panel = packed.get() + p * panel_bytes();
      if (is_half()) {
        pack_half_panel(static_cast<const std::uint16_t*>(weights.numbers) + column, size_.width, size_.depth, width,
                        reinterpret_cast<std::uint16_t*>(panel));
      } else {
        pack_panel(weights.columns_from(column, size_), size_.depth, width, reinterpret_cast<float*>(panel));
      }
    });
    return packed;
  }

  [[nodiscard]] const std::byte* panel(std::int64_t p) const { return weights_.get() + p * panel_bytes(); }

  /// Returns a thread's float32 panel in scratch memory; null if panels are float32.
  [[nodiscard]] float* wide_panel(int thread) const {
    return is_half() ? reinterpret_cast<float*>(engine_.scratch.get()) + thread * size_.depth * kPanel : nullptr;
  }

  /// The rows [first, last) and the panels [begin, end).
  struct Piece {
    std::int64_t first, last, begin, end;
  };

  void run_piece(const Piece& piece, const float* x, const float* residual, float* y, float* wide) const {
    const std::int64_t width = size_.width, rows = piece.last - piece.first;
    const View from{x + piece.first * size_.depth, size_.depth, 1};
    float* const to = y + piece.first * width;
    for (std::int64_t p = piece.begin; p < piece.end; ++p) {
      float* const block = to + p * kPanel;
      if (is_half()) {
        const auto* const half = reinterpret_cast<const std::uint16_t*>(panel(p));
        if (rows <= kFewRows) {
          multiply_half(half, from.data, rows, p, residual == nullptr ? nullptr : residual + (block - y), block);
          continue;
        }
        widen_panel(dtype_, half, size_.depth, wide);
      }
      multiply_panel({.x = from,
                      .panel = is_half() ? wide : reinterpret_cast<const float*>(panel(p)),
                      .rows = rows,
                      .depth = size_.depth,
                      .y = block,
                      .stride = width,
                      .columns = std::min(kPanel, width - p * kPanel),
                      .start = start_.data() + p * kPanel,
                      .fetches = !is_half(),
                      .out = {is_relu_, adds_residual_ ? residual + (block - y) : nullptr}});
    }
    if (!finish_.is_needed()) return;
    const std::int64_t begin = piece.begin * kPanel, count = std::min(piece.end * kPanel, width) - begin;
    for (std::int64_t i = piece.first; i < piece.last; ++i) {
      const std::int64_t at = i * width + begin;
      finish_.run(residual == nullptr ? nullptr : residual + at, y + at, count);
    }
  }

  /// Computes columns of a half-precision panel for a few rows of x, with multiply_panel's epilogue.
  void multiply_half(const std::uint16_t* half, const float* x, std::int64_t rows, std::int64_t p,
                     const float* residual, float* y) const {
    float sums[kFewRows * kPanel];
    multiply_half_panel(dtype_, x, size_.depth, rows, half, size_.depth, start_.data() + p * kPanel, sums);
    const std::int64_t columns = std::min(kPanel, size_.width - p * kPanel);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const float sum = sums[i * kPanel + j], written = is_relu_ && sum < 0.0F ? 0.0F : sum;
        y[i * size_.width + j] = adds_residual_ ? written + residual[i * size_.width + j] : written;
      }
    }
  }

  Size size_;
  bool is_relu_, adds_residual_;  // applied in the epilogue of the micro-kernel
  Finish finish_;                 // the rest of the epilogue, after a work item
  Engine& engine_;
  DType dtype_;  // dtype of the weights
  Team team_;
  std::int64_t panels_, blocks_, groups_;
  std::int64_t packed_bytes_ = 0;
  std::shared_ptr<std::byte> weights_;  // panels (depth, kPanel) of dtype_
  std::vector<float> start_;            // the bias, padded to whole panels
};

bool takes(const ProductQuery& query) {
  const bool takes_weights =
      query.weights == DType::float32 || query.weights == DType::bfloat16 || query.weights == DType::float16;
  return isa() >= Isa::avx512 && query.dtype == DType::float32 && takes_weights;
}

Layout layout(const ProductQuery& query) { return layout_of(query.weights); }

std::int64_t packed_bytes(const ProductQuery& query) {
  const std::array factors{parts_of(query.size.width, kPanel), kPanel, query.size.depth, bytes_of(query.weights)};
  return checked_product(factors).value_or(kMaxSize);
}

std::int64_t held_bytes(const ProductQuery& query) {
  const std::array factors{parts_of(query.size.width, kPanel), kPanel, bytes_of(DType::float32)};
  return checked_product(factors).value_or(kMaxSize);
}

std::int64_t scratch_bytes(const ProductQuery& query, int threads) {
  return query.weights == DType::float32 ? 0 : widened_panels(query.size, threads);
}

std::unique_ptr<Product> make(Engine& engine, const Product::Size& size, DType, const Product::Weights& weights,
                              const Product::Fusion& fusion) {
  return std::make_unique<PanelProduct>(engine, size, weights, fusion);
}

}  // namespace

constinit const ProductInfo kPanelProduct{takes,
                                          layout,
                                          packed_bytes,
                                          held_bytes,
                                          scratch_bytes,
                                          make,
                                          /*hands_over=*/false,
                                          /*is_library=*/false};

}  // namespace attn::backends::cpu
