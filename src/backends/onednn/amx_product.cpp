// Products on tiles of bfloat16: of bfloat16 numbers, or of float32 ones as sums of one, two or three of them.
//
// The weights are packed once, in blocks of 32 columns. Rows of x are packed a group at a time, and a chunk of each
// block's depth meets all rows of the group while the next one is fetched. The loops are checked on emulated tiles,
// where they give AMX's bits.
#include "amx_product.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "amx_kernel.h"
#include "attn/base/size.h"
#include "convert.h"
#include "dot_kernel.h"
#include "loops.h"
#include "tile_output.h"

namespace attn::backends::onednn {
namespace {

constexpr std::int64_t kPiecesPerThread = 4;

/// Float32 products with fewer rows wait for the bytes of the weights, of which panels have 4 for a number.
std::int64_t least_rows(int parts) { return parts == 3 ? 57 : parts == 2 ? 17 : 1; }

std::int64_t blocks_of(std::int64_t count) { return (count + kTileBlock - 1) / kTileBlock; }

/// How a product is cut so that what is read again and again stays in the second-level cache: the depth into chunks,
/// whose sums are added up; the rows of x into groups that are packed together, of whose chunk all panels are
/// multiplied; and the panels into sets whose sums wait for the next chunk.
struct Blocking {
  /// Of a size whose numbers may be 0 where only its price is asked.
  Blocking(const Product::Size& size, int parts, int threads)
      : steps(std::max<std::int64_t>(1, tile_steps(size.depth))),
        blocks(std::max<std::int64_t>(1, blocks_of(size.rows))) {
    // Chunks of a panel, and of a block, stay in the first-level cache. They do not depend on the rows, so that neither
    // do the bits of a row's result.
    const std::int64_t most_chunk = parts == 3 ? 24 << 10 : 16 << 10;
    const std::int64_t step_bytes = parts * kTilePart * 2, most_steps = most_chunk / step_bytes;
    chunks = (steps + most_steps - 1) / most_steps;
    chunk_steps = (steps + chunks - 1) / chunks;
    const std::int64_t cache = std::max<std::int64_t>(1 << 20, sysconf(_SC_LEVEL2_CACHE_SIZE));
    const std::int64_t most_blocks = std::max<std::int64_t>(1, cache / 8 / (chunk_steps * step_bytes));
    groups = (blocks + most_blocks - 1) / most_blocks;
    // Groups that are high enough for the panels' bytes go to one thread each, which finds what it packed in its cache.
    constexpr std::int64_t kLeastBlocks = 4;
    const std::int64_t pieces = kPiecesPerThread / 2 * threads;
    by_groups = threads > 1 && blocks >= kLeastBlocks * pieces;
    if (by_groups) groups = (groups + pieces - 1) / pieces * pieces;
    group_blocks = (blocks + groups - 1) / groups;
    const std::int64_t panels = std::max<std::int64_t>(1, blocks_of(size.width));
    set_panels = std::clamp<std::int64_t>(cache / 4 / (group_blocks * kSumsBytes), 1, panels);
  }

  /// Of the rows that are packed together, and of the sums that wait in one thread.
  [[nodiscard]] std::optional<std::int64_t> packed_bytes(int parts) const {
    return checked_product(std::array<std::int64_t, 4>{group_blocks, steps, parts, kTilePart * 2});
  }
  [[nodiscard]] std::int64_t sums_bytes() const { return chunks == 1 ? 0 : set_panels * group_blocks * kSumsBytes; }

  static constexpr std::int64_t kSumsBytes = kTileBlock * kTileBlock * 4;
  std::int64_t steps, blocks, chunks, chunk_steps, groups, group_blocks, set_panels;
  bool by_groups;
};

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

template <typename Tiles>
class TileProduct final : public Product {
 public:
  TileProduct(Engine& engine, const Size& size, DType dtype, const Weights& weights, const Fusion& fusion)
      : engine_(engine),
        size_(size),
        dtype_(dtype),
        parts_(tile_parts(dtype, engine.multiplication.precision)),
        panels_(blocks_of(size.width)),
        team_(team_of(engine, size)),
        blocking_(size, parts_, team_.threads),
        has_residual_(fusion.residual),
        is_relu_(is_plain_relu(fusion.activation)) {
    if (!is_relu_ && fusion.activation.fn != graph::UnaryFn::linear) activation_.emplace(fusion.activation);
    if (weights.packed != nullptr && weights.packed->tile_parts == parts_) weights_ = weights.packed->tiles;
    if (!weights_) pack(weights);
    bias_.assign(static_cast<std::size_t>(panels_ * kTileBlock), 0.0F);
    if (fusion.bias != nullptr) read_bias(fusion.bias);
    engine.scratch.reserve(tile_scratch_bytes(size, dtype, engine.multiplication, team_.threads));
    if (team_.threads > 1) {
      const std::int64_t wanted = kPiecesPerThread * team_.threads;
      column_pieces_ = std::min(panels_, wanted);
      row_pieces_ = std::min(blocking_.group_blocks, (wanted + column_pieces_ - 1) / column_pieces_);
    }
  }

  void run(const void* x, const void* residual, void* y) override {
    if (blocking_.by_groups) {
      parallel_for(blocking_.groups, team_, [&](std::int64_t g, int thread) {
        Part part = group(g, thread);
        for (std::int64_t i = 0; i < part.last_block * kTileBlock; ++i) pack_row(x, part, i);
        multiply(part, thread, residual, y);
      });
      return;
    }
    for (std::int64_t g = 0; g < blocking_.groups; ++g) {
      const Part whole = group(g, 0);
      const std::int64_t blocks = whole.last_block, row_pieces = std::min(row_pieces_, blocks);
      parallel_ranges(blocks * kTileBlock, team_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) pack_row(x, whole, i);
      });
      parallel_for(column_pieces_ * row_pieces, team_, [&](std::int64_t piece, int thread) {
        const std::int64_t column = piece / row_pieces, row = piece % row_pieces;
        Part part = whole;
        part.first_panel = panels_ * column / column_pieces_;
        part.last_panel = panels_ * (column + 1) / column_pieces_;
        part.first_block = blocks * row / row_pieces;
        part.last_block = blocks * (row + 1) / row_pieces;
        multiply(part, thread, residual, y);
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
    Bfloat16* x;
    std::int64_t first_panel, last_panel, first_block, last_block;
    std::int64_t first_row, rows;  // of the group, in the whole
  };
  struct Block {
    std::int64_t row, panel;  // of 32 rows in the group, of 32 columns
  };

  static Team team_of(Engine& engine, const Size& size) {
    // Few rows wait for the weights' bytes.
    const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
    return engine.team_for(2.0 * rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
  }

  /// All of it, packed in a thread's scratch.
  [[nodiscard]] Part group(std::int64_t g, int thread) const {
    const std::int64_t first = blocking_.blocks * g / blocking_.groups;
    const std::int64_t last = blocking_.blocks * (g + 1) / blocking_.groups, row = first * kTileBlock;
    return {x_of(thread), 0, panels_, 0, last - first, row, std::min((last - first) * kTileBlock, size_.rows - row)};
  }

  void pack_row(const void* x, const Part& part, std::int64_t i) const {
    const void* const row = i < part.rows ? advance(x, (part.first_row + i) * size_.depth) : nullptr;
    pack_tile_row(dtype_, row, size_.depth, parts_, i % kTileBlock, x_block(part, i / kTileBlock));
  }

  void multiply(const Part& part, int thread, const void* residual, void* y) const {
    float* const waiting = sums_of(thread);
    if constexpr (Tiles::kMostParts == 1) {
      run_part<1>(part, waiting, residual, y);
    } else {
      switch (parts_) {
        case 1:
          return run_part<1>(part, waiting, residual, y);
        case 2:
          return run_part<2>(part, waiting, residual, y);
        default:
          return run_part<3>(part, waiting, residual, y);
      }
    }
  }

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
  [[nodiscard]] const Bfloat16* chunk_of(std::int64_t p, std::int64_t chunk) const {
    return panel(p) + chunk * blocking_.chunk_steps * parts_ * kTilePart;
  }
  /// Where a thread packs rows of x; behind it are the sums that wait.
  [[nodiscard]] Bfloat16* x_of(int thread) const {
    const std::int64_t bytes = blocking_.packed_bytes(parts_).value_or(0) + blocking_.sums_bytes();
    return reinterpret_cast<Bfloat16*>(engine_.scratch.get() + thread * bytes);
  }
  [[nodiscard]] float* sums_of(int thread) const {
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(x_of(thread)) +
                                    blocking_.packed_bytes(parts_).value_or(0));
  }
  [[nodiscard]] Bfloat16* x_block(const Part& part, std::int64_t b) const {
    return part.x + b * tile_block_size(size_.depth, parts_);
  }

  void read_bias(const void* bias) {
    if (dtype_ == DType::float32) {
      std::copy_n(static_cast<const float*>(bias), size_.width, bias_.data());
    } else {
      widen(dtype_, static_cast<const std::uint16_t*>(bias), bias_.data(), size_.width);
    }
  }

  template <int kParts>
  void run_part(const Part& part, float* waiting, const void* residual, void* y) const {
    const std::int64_t blocks = part.last_block - part.first_block;
    Tiles tiles;
    for (std::int64_t first = part.first_panel; first < part.last_panel; first += blocking_.set_panels) {
      const std::int64_t last = std::min(first + blocking_.set_panels, part.last_panel);
      for (std::int64_t chunk = 0; chunk < blocking_.chunks; ++chunk) {
        float* earlier = waiting;
        for (std::int64_t p = first; p < last; ++p) {
          const bool is_last = p + 1 == last, is_done = is_last && chunk + 1 == blocking_.chunks;
          Ahead ahead =
              ahead_of<kParts>(blocks, is_done ? panel(last) : chunk_of(is_last ? first : p + 1, chunk + is_last));
          for (std::int64_t b = part.first_block; b < part.last_block; ++b, earlier += kSums)
            multiply_chunk<kParts>(tiles, chunk, part, {b, p}, ahead, earlier, residual, y);
        }
      }
    }
  }

  /// A chunk of a panel, fetched while one is multiplied by so many blocks.
  template <int kParts>
  [[nodiscard]] Ahead ahead_of(std::int64_t blocks, const Bfloat16* next) const {
    constexpr std::int64_t kLine = 64, kPairs = kParts == 3 ? 6 : kParts == 2 ? 3 : 1, kProducts = 4 * kPairs;
    const std::int64_t lines = kParts * kTilePart * 2 / kLine;  // of a step
    return {reinterpret_cast<const char*>(next), (lines + blocks * kProducts - 1) / (blocks * kProducts)};
  }

  /// The sums of a block over a chunk of the depth, added to the earlier ones.
  template <int kParts>
  void multiply_chunk(Tiles& tiles, std::int64_t chunk, const Part& part, const Block& block, Ahead& ahead,
                      float* earlier, const void* residual, void* y) const {
    alignas(64) std::array<float, kSums> sums;
    const std::int64_t step = chunk * blocking_.chunk_steps;
    const std::int64_t steps = std::min(blocking_.chunk_steps, blocking_.steps - step);
    const std::int64_t rows = std::min(kTileBlock, part.rows - block.row * kTileBlock);
    const Bfloat16* const x = x_block(part, block.row) + step * kParts * kTilePart;
    const Bfloat16* const w = chunk_of(block.panel, chunk);
    const bool is_last = chunk + 1 == blocking_.chunks;
    if constexpr (kParts == 1) {
      float* const to = is_last ? sums.data() : earlier;
      multiply_tile_block<kParts>(tiles, x, w, steps, rows, ahead, to, kTileBlock, chunk > 0 ? earlier : nullptr);
      if (is_last) finish(part, block, rows, to, residual, y);
    } else if (chunk == 0 && !is_last) {
      multiply_tile_block<kParts>(tiles, x, w, steps, rows, ahead, earlier);
    } else {
      multiply_tile_block<kParts>(tiles, x, w, steps, rows, ahead, sums.data());
      if (chunk > 0) add_to(is_last ? sums.data() : earlier, is_last ? earlier : sums.data(), rows * kTileBlock);
      if (is_last) finish(part, block, rows, sums.data(), residual, y);
    }
  }

  /// A block's sums become y's numbers.
  void finish(const Part& part, const Block& block, std::int64_t rows, float* sums, const void* residual,
              void* y) const {
    static constexpr std::array<float, kTileBlock> kZeros{};
    const std::int64_t column = block.panel * kTileBlock;
    const std::int64_t at = ((part.first_row + block.row * kTileBlock) * size_.width + column) * bytes_of(dtype_);
    const TileOutput out{dtype_,
                         static_cast<std::byte*>(y) + at,
                         has_residual_ ? static_cast<const std::byte*>(residual) + at : nullptr,
                         rows,
                         std::min(kTileBlock, size_.width - column),
                         size_.width};
    const float* const bias = bias_.data() + column;
    if (!activation_) {
      if (write_out(sums, bias, is_relu_, out)) return;
      repair(part, block, rows, sums);
      write_out(sums, bias, is_relu_, out);
    } else {
      if (!is_finite(sums, rows)) repair(part, block, rows, sums);
      add_bias(sums, bias, rows);
      (*activation_)(sums, sums, rows * kTileBlock);
      write_out(sums, kZeros.data(), false, out);
    }
  }

  /// ∞ times the part of a number that is 0, or of another sign, is NaN where ∞ times the number is ∞; and a product of
  /// first parts may overflow where the sum of all does not. So what is not finite is computed from whole numbers.
  void repair(const Part& part, const Block& block, std::int64_t rows, float* sums) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const row = sums + i * kTileBlock;
      if (!is_finite(row, 1))
        multiply_tile_row(x_block(part, block.row), i, panel(block.panel), size_.depth, parts_, row);
    }
  }

  static constexpr std::int64_t kSums = kTileBlock * kTileBlock;

  Engine& engine_;
  Size size_;
  DType dtype_;
  int parts_;
  std::int64_t panels_;
  Team team_;
  Blocking blocking_;
  bool has_residual_, is_relu_;
  std::optional<UnaryLoop> activation_;  // another one
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

std::int64_t tile_scratch_bytes(const Product::Size& size, DType dtype, const Multiplication& multiplication,
                                int threads) {
  const int parts = tile_parts(dtype, multiplication.precision);
  const Blocking blocking(size, parts, threads);
  const auto packed = blocking.packed_bytes(parts);
  if (!packed) return kMaxSize;
  const auto of_thread = checked_add(*packed, blocking.sums_bytes());
  return of_thread ? checked_mul(*of_thread, threads).value_or(kMaxSize) : kMaxSize;
}

std::unique_ptr<Product> make_tile_product(Engine& engine, const Product::Size& size, DType dtype,
                                           const Product::Weights& weights, const Product::Fusion& fusion) {
#if defined(__x86_64__)
  if (engine.multiplication.tiles == Tiles::amx)
    return std::make_unique<TileProduct<AmxTiles>>(engine, size, dtype, weights, fusion);
  if (engine.multiplication.tiles == Tiles::dots)
    return std::make_unique<TileProduct<DotProducts>>(engine, size, dtype, weights, fusion);
#endif
  return std::make_unique<TileProduct<EmulatedTiles>>(engine, size, dtype, weights, fusion);
}

}  // namespace attn::backends::onednn
