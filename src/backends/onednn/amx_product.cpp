// Products on tiles of bfloat16: of bfloat16 numbers, or of float32 ones as sums of one, two or three of them.
//
// The weights are packed once. Of x as many rows are packed at a time as stay in a core's second-level cache; each
// block of 32 columns of w meets all of them while the next one is fetched. The loops are checked on emulated tiles,
// where they give AMX's bits. The speed was measured on a sketch of them (Sapphire Rapids, one core, GFLOP/s of the
// float32 product, 128 x 768 x 3072): 250 with three parts, 435 with two, 1005 with one; oneDNN 122 in float32, 730 in
// bfloat16.
#include "amx_product.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "amx_kernel.h"
#include "attn/base/size.h"
#include "convert.h"
#include "dot_kernel.h"
#include "loops.h"
#include "vector.h"

namespace attn::backends::onednn {
namespace {

constexpr std::int64_t kPiecesPerThread = 4;

/// Float32 products with fewer rows wait for the bytes of the weights, of which panels have 4 for a number: by the
/// sketch (50 rows: 178 with three parts, 275 with two; panels 184 for 48).
std::int64_t least_rows(int parts) { return parts == 3 ? 65 : parts == 2 ? 17 : 1; }

std::int64_t blocks_of(std::int64_t count) { return (count + kTileBlock - 1) / kTileBlock; }

/// Rows of x that are packed at a time.
std::int64_t group_rows(const Product::Size& size, int parts) {
  constexpr std::int64_t kLeastCache = 1 << 20, kLeastBlocks = 2;
  const std::int64_t cache = std::max<std::int64_t>(kLeastCache, sysconf(_SC_LEVEL2_CACHE_SIZE)) / 4 * 3;
  const std::array<std::int64_t, 3> factors{tile_steps(size.depth), parts, 2 * kTileBytes};
  const std::int64_t block = std::max<std::int64_t>(1, checked_product(factors).value_or(kMaxSize));
  const std::int64_t most = std::max(kLeastBlocks, cache / block) * kTileBlock;
  const std::int64_t groups = std::max<std::int64_t>(1, (size.rows + most - 1) / most);
  return blocks_of((size.rows + groups - 1) / groups) * kTileBlock;
}

std::string_view name_of(Tiles tiles, int parts) {
  if (tiles == Tiles::dots) return "dot products of bfloat16";
  const bool is_amx = tiles == Tiles::amx;
  switch (parts) {
    case 1:
      return is_amx ? "amx" : "emulated amx";
    case 2:
      return is_amx ? "amx, 3 products of bfloat16" : "emulated amx, 3 products of bfloat16";
    default:
      return is_amx ? "amx, 6 products of bfloat16" : "emulated amx, 6 products of bfloat16";
  }
}

ATTN_VECTORIZED(bool, is_finite, const float* x, std::int64_t size) {
  std::uint32_t infinite = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(x[i]) & 0x7F800000;
    infinite |= exponent == 0x7F800000 ? 1U : 0U;
  }
  return infinite == 0;
}

/// To each of `rows` rows of a block.
ATTN_VECTORIZED(void, add_bias, float* y, const float* bias, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < kTileBlock; ++j) y[i * kTileBlock + j] += bias[j];
}

template <typename Tiles, int kMostParts>
class TileProduct final : public Product {
 public:
  TileProduct(Engine& engine, const Size& size, DType dtype, const Weights& weights, const Fusion& fusion)
      : engine_(engine),
        size_(size),
        dtype_(dtype),
        parts_(tile_parts(dtype, engine.multiplication.precision)),
        steps_(tile_steps(size.depth)),
        panels_(blocks_of(size.width)),
        group_(group_rows(size, parts_)),
        has_residual_(fusion.residual),
        activation_(fusion.activation) {
    // Few rows wait for the weights' bytes.
    const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
    team_ = engine.team_for(2.0 * rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
    if (weights.packed != nullptr && weights.packed->tile_parts == parts_) weights_ = weights.packed->tiles;
    if (!weights_) pack(weights);
    bias_.assign(static_cast<std::size_t>(panels_ * kTileBlock), 0.0F);
    if (fusion.bias != nullptr) read(fusion.bias, bias_.data(), size.width);
    engine.scratch.reserve(tile_scratch_bytes(size, dtype, engine.multiplication));
    if (team_.threads > 1) {
      const std::int64_t wanted = kPiecesPerThread * team_.threads;
      column_pieces_ = std::min(panels_, wanted);
      row_pieces_ = std::min(group_ / kTileBlock, (wanted + column_pieces_ - 1) / column_pieces_);
    }
  }

  void run(const void* x, const void* residual, void* y) override {
    for (std::int64_t first = 0; first < size_.rows; first += group_) {
      const std::int64_t rows = std::min(group_, size_.rows - first), blocks = blocks_of(rows);
      parallel_ranges(blocks * kTileBlock, team_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const void* const row = i < rows ? advance(x, (first + i) * size_.depth) : nullptr;
          pack_tile_row(dtype_, row, size_.depth, parts_, i % kTileBlock, x_block(i / kTileBlock));
        }
      });
      parallel_for(column_pieces_ * row_pieces_, team_, [&](std::int64_t piece, int) {
        const std::int64_t column = piece / row_pieces_, row = piece % row_pieces_;
        const Part part{panels_ * column / column_pieces_,
                        panels_ * (column + 1) / column_pieces_,
                        blocks * row / row_pieces_,
                        blocks * (row + 1) / row_pieces_,
                        first,
                        rows};
        if constexpr (kMostParts == 1) {
          run_part<1>(part, residual, y);
        } else {
          switch (parts_) {
            case 1:
              return run_part<1>(part, residual, y);
            case 2:
              return run_part<2>(part, residual, y);
            default:
              return run_part<3>(part, residual, y);
          }
        }
      });
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_of(engine_.multiplication.tiles, parts_); }
  [[nodiscard]] std::int64_t bytes() const override {
    return packed_bytes_ + panels_ * kTileBlock * bytes_of(DType::float32);
  }

 private:
  /// Panels and, of the rows that are packed, blocks.
  struct Part {
    std::int64_t first_panel, last_panel, first_block, last_block;
    std::int64_t first_row, rows;  // of the group, in the whole
  };

  void pack(const Weights& weights) {
    packed_bytes_ = tile_packed_bytes(size_, dtype_, engine_.multiplication);
    weights_ = allocate_bytes(packed_bytes_);
    parallel_for(panels_, team_, [&](std::int64_t p, int) {
      const std::int64_t column = p * kTileBlock;
      pack_tile_columns(dtype_, advance(weights.numbers, column), size_.depth,
                        std::min(kTileBlock, size_.width - column), size_.width, parts_, panel(p));
    });
    if (weights.packed == nullptr) return;
    weights.packed->tiles = weights_;
    weights.packed->tile_parts = parts_;
  }

  [[nodiscard]] const void* advance(const void* from, std::int64_t numbers) const {
    return static_cast<const std::byte*>(from) + numbers * bytes_of(dtype_);
  }
  [[nodiscard]] Bfloat16* panel(std::int64_t p) const {
    return reinterpret_cast<Bfloat16*>(weights_.get()) + p * tile_block_size(size_.depth, parts_);
  }
  [[nodiscard]] Bfloat16* x_block(std::int64_t b) const {
    return reinterpret_cast<Bfloat16*>(engine_.scratch.get()) + b * tile_block_size(size_.depth, parts_);
  }

  void read(const void* from, float* to, std::int64_t count) const {
    if (dtype_ == DType::float32) {
      std::copy_n(static_cast<const float*>(from), count, to);
    } else {
      widen(dtype_, static_cast<const std::uint16_t*>(from), to, count);
    }
  }

  template <int kParts>
  void run_part(const Part& part, const void* residual, void* y) const {
    alignas(64) std::array<float, kTileBlock * kTileBlock> sums;
    constexpr std::int64_t kLine = 64;
    const std::int64_t blocks = std::max<std::int64_t>(part.last_block - part.first_block, 1);
    const std::int64_t panel_lines = tile_block_size(size_.depth, kParts) * 2 / kLine;
    const std::int64_t lines = (panel_lines + blocks * steps_ - 1) / (blocks * steps_);
    Tiles tiles;
    for (std::int64_t p = part.first_panel; p < part.last_panel; ++p) {
      const Bfloat16* const w = panel(p);
      for (std::int64_t b = part.first_block; b < part.last_block; ++b) {
        const Bfloat16* const x = x_block(b);
        const std::int64_t rows = std::min(kTileBlock, part.rows - b * kTileBlock);
        Ahead ahead{nullptr, 0};
        if (p + 1 < panels_)
          ahead = {reinterpret_cast<const char*>(panel(p + 1)) + (b - part.first_block) * lines * steps_ * kLine,
                   lines};
        multiply_tile_block<kParts>(tiles, x, w, steps_, rows, ahead, sums.data());
        finish(x, w, part.first_row + b * kTileBlock, rows, p * kTileBlock, sums.data(), residual, y);
      }
    }
  }

  /// Sums of `rows` rows from `row` and 32 columns from `column` become y's numbers.
  void finish(const Bfloat16* x, const Bfloat16* w, std::int64_t row, std::int64_t rows, std::int64_t column,
              float* sums, const void* residual, void* y) const {
    if (!is_finite(sums, rows * kTileBlock)) repair(x, w, rows, sums);
    add_bias(sums, bias_.data() + column, rows);
    activation_(sums, sums, rows * kTileBlock);
    const std::int64_t width = std::min(kTileBlock, size_.width - column);
    std::array<float, kTileBlock> other;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t at = (row + i) * size_.width + column;
      float* const numbers = sums + i * kTileBlock;
      if (has_residual_) {
        read(advance(residual, at), other.data(), width);
        add_to(numbers, other.data(), width);
      }
      if (dtype_ == DType::float32) {
        std::copy_n(numbers, width, static_cast<float*>(y) + at);
      } else {
        narrow(dtype_, numbers, static_cast<std::uint16_t*>(y) + at, width);
      }
    }
  }

  /// ∞ times the part of a number that is 0, or of another sign, is NaN where ∞ times the number is ∞; and a product of
  /// first parts may overflow where the sum of all does not. So what is not finite is computed from whole numbers.
  void repair(const Bfloat16* x, const Bfloat16* w, std::int64_t rows, float* sums) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const numbers = sums + i * kTileBlock;
      if (!is_finite(numbers, kTileBlock)) multiply_tile_row(x, i, w, size_.depth, parts_, numbers);
    }
  }

  Engine& engine_;
  Size size_;
  DType dtype_;
  int parts_;
  std::int64_t steps_, panels_, group_;
  bool has_residual_;
  UnaryLoop activation_;
  Team team_;
  std::int64_t column_pieces_ = 1, row_pieces_ = 1;
  std::int64_t packed_bytes_ = 0;
  std::shared_ptr<std::byte> weights_;  // panels of 32 columns, as amx_pack.h has them
  std::vector<float> bias_;             // padded
};

}  // namespace

int tile_parts(DType dtype, MatmulPrecision precision) {
  if (dtype == DType::bfloat16) return 1;
  return precision == MatmulPrecision::highest ? 3 : precision == MatmulPrecision::high ? 2 : 1;
}

bool takes_tiles(const Product::Size& size, DType dtype, const Multiplication& multiplication) {
  if (multiplication.tiles == Tiles::none || (dtype != DType::float32 && dtype != DType::bfloat16)) return false;
  const int parts = tile_parts(dtype, multiplication.precision);
  if (multiplication.tiles == Tiles::dots) return parts == 1;  // twice as fast as float32: too slow for more
  return multiplication.tiles == Tiles::emulated || size.rows >= least_rows(parts);
}

std::int64_t tile_packed_bytes(const Product::Size& size, DType dtype, const Multiplication& multiplication) {
  const std::array<std::int64_t, 4> factors{blocks_of(size.width) * kTileBlock, tile_steps(size.depth) * kTileDepth,
                                            tile_parts(dtype, multiplication.precision), 2};
  return checked_product(factors).value_or(kMaxSize);
}

std::int64_t tile_scratch_bytes(const Product::Size& size, DType dtype, const Multiplication& multiplication) {
  const int parts = tile_parts(dtype, multiplication.precision);
  const std::array<std::int64_t, 4> factors{group_rows(size, parts), tile_steps(size.depth) * kTileDepth, parts, 2};
  return checked_product(factors).value_or(kMaxSize);
}

std::unique_ptr<Product> make_tile_product(Engine& engine, const Product::Size& size, DType dtype,
                                           const Product::Weights& weights, const Product::Fusion& fusion) {
#if defined(__x86_64__)
  if (engine.multiplication.tiles == Tiles::amx)
    return std::make_unique<TileProduct<AmxTiles, 3>>(engine, size, dtype, weights, fusion);
  if (engine.multiplication.tiles == Tiles::dots)
    return std::make_unique<TileProduct<DotProducts, 1>>(engine, size, dtype, weights, fusion);
#endif
  return std::make_unique<TileProduct<EmulatedTiles, 3>>(engine, size, dtype, weights, fusion);
}

}  // namespace attn::backends::onednn
