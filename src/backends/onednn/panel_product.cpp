#include <algorithm>

#include "panels.h"
#include "product.h"

namespace attn::backends::onednn {
namespace {

/// So many that a thread which is put aside leaves little to wait for.
constexpr std::int64_t kPiecesPerThread = 4;

class PanelProduct final : public Product {
 public:
  PanelProduct(Engine& engine, const Size& size, const Weights& weights, const Fusion& fusion)
      : size_(size), finish_(fusion.activation, fusion.residual, DType::float32) {
    panels_ = (size.width + kPanel - 1) / kPanel;
    if (weights.packed != nullptr) weights_ = weights.packed->panels;
    if (!weights_) pack(static_cast<const float*>(weights.numbers));
    if (weights.packed != nullptr) weights.packed->panels = weights_;
    start_.assign(static_cast<std::size_t>(panels_ * kPanel), 0.0F);
    if (fusion.bias != nullptr) std::copy_n(static_cast<const float*>(fusion.bias), size.width, start_.begin());
    // Few rows wait for the weights' bytes more than for the multipliers.
    const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
    team_ = engine.team_for(2.0 * rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
    pieces_ = team_.threads == 1 ? 1 : std::min(panels_, kPiecesPerThread * team_.threads);
  }

  void run(const void* x, const void* residual, void* y) override {
    parallel_for(pieces_, team_, [&](std::int64_t piece, int) {
      run_panels(panels_ * piece / pieces_, panels_ * (piece + 1) / pieces_, static_cast<const float*>(x),
                 static_cast<const float*>(residual), static_cast<float*>(y));
    });
  }

  [[nodiscard]] std::string_view name() const override { return "panels"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return packed_bytes_ + panels_ * kPanel * bytes_of(DType::float32);
  }

 private:
  void pack(const float* weights) {
    // One panel more, so that fetching ahead stays inside.
    packed_bytes_ = (panels_ + 1) * size_.depth * kPanel * bytes_of(DType::float32);
    weights_ = allocate_bytes(packed_bytes_);
    for (std::int64_t p = 0; p < panels_; ++p) {
      const std::int64_t column = p * kPanel;
      pack_panel({weights + column, size_.width, 1}, size_.depth, std::min(kPanel, size_.width - column), panel(p));
    }
  }

  [[nodiscard]] float* panel(std::int64_t p) const {
    return reinterpret_cast<float*>(weights_.get()) + p * size_.depth * kPanel;
  }

  void run_panels(std::int64_t begin, std::int64_t end, const float* x, const float* residual, float* y) const {
    const View rows{x, size_.depth, 1};
    const std::int64_t width = size_.width;
    for (std::int64_t p = begin; p < end; ++p) {
      const float* const start = start_.data() + p * kPanel;
      const std::int64_t columns = std::min(kPanel, width - p * kPanel);
      if (columns == kPanel) {
        multiply_panel(rows, panel(p), start, panel(p + 1), size_.rows, size_.depth, y + p * kPanel, width);
      } else {
        multiply_part(rows, panel(p), start, size_.rows, size_.depth, columns, y + p * kPanel, width);
      }
    }
    if (!finish_.is_needed()) return;
    const std::int64_t first = begin * kPanel, count = std::min(end * kPanel, width) - first;
    for (std::int64_t i = 0; i < size_.rows; ++i) {
      const std::int64_t at = i * width + first;
      finish_.run(residual == nullptr ? nullptr : residual + at, y + at, count);
    }
  }

  Size size_;
  Finish finish_;
  Team team_;
  std::int64_t panels_, pieces_;
  std::int64_t packed_bytes_ = 0;
  std::shared_ptr<std::byte> weights_;  // panels (depth, kPanel)
  std::vector<float> start_;            // the bias, padded
};

}  // namespace

std::unique_ptr<Product> make_panel_product(Engine& engine, const Product::Size& size, const Product::Weights& weights,
                                            const Product::Fusion& fusion) {
  return std::make_unique<PanelProduct>(engine, size, weights, fusion);
}

}  // namespace attn::backends::onednn
