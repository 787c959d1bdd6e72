// GEMMs on bfloat16 tiles: for bfloat16 numbers, or for float32 numbers as sums of one, two or three bfloat16 parts.
//
// The weights are packed once, in blocks of 32 columns. Rows of x are packed a group at a time. A section of each
// column block is multiplied by all rows of the group while the next section is prefetched. The tests run the loops on
// emulated tiles, which give the same bits as AMX.
#include "amx_product.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "amx_kernel.h"
#include "attn/base/size.h"
#include "dot_kernel.h"
#include "operations/convert.h"
#include "operations/loops.h"
#include "panels.h"
#include "product.h"
#include "tile_output.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kPiecesPerThread = 4;

/// Returns the minimum number of rows. With fewer rows, a float32 product is limited by the bandwidth of the weights,
/// which need 4 bytes per number in panels.
std::int64_t least_rows(int parts) { return parts == 3 ? 57 : parts == 2 ? 17 : 1; }

std::int64_t blocks_of(std::int64_t count) { return (count + kTileBlock - 1) / kTileBlock; }

/// Steps of the depth that are summed before the sum is added to the earlier sums. There are few additions to large
/// sums, so partial sums round seldom.
constexpr std::int64_t kSumSteps = 4;

/// The blocking of a GEMM that keeps reused data in the L2 cache. The depth is cut into sections, whose sums are added
/// up. The rows of x are cut into groups; a section of a group is multiplied by all panels. The panels are cut into
/// sets, whose sums wait for the next section.
struct Blocking {
  /// The sizes may be 0 if only the memory is queried.
  Blocking(const Product::Size& size, int parts, int threads)
      : steps(std::max<std::int64_t>(1, tile_steps(size.depth))),
        blocks(std::max<std::int64_t>(1, blocks_of(size.rows))) {
    // Maximum bytes of a block with its whole depth, and of a section. They do not depend on the number of rows, so the
    // bits of a row's result do not either.
    constexpr std::int64_t kMostWhole = 192 << 10, kMostSection = 96 << 10;
    const std::int64_t step_bytes = parts * kTilePart * 2;
    const std::int64_t most_steps = steps <= kMostWhole / step_bytes ? steps : kMostSection / step_bytes;
    section_steps = (most_steps + kSumSteps - 1) / kSumSteps * kSumSteps;
    sections = (steps + section_steps - 1) / section_steps;
    const std::int64_t cache = std::max<std::int64_t>(1 << 20, sysconf(_SC_LEVEL2_CACHE_SIZE));
    // The rest of the cache is for sums that wait.
    const std::int64_t of_blocks = sections == 1 ? cache / 2 : cache / 4;
    const std::int64_t block_bytes = section_steps * step_bytes;
    const std::int64_t most_blocks = std::max<std::int64_t>(1, of_blocks / block_bytes);
    // One group with a few more blocks is better than two groups, each of which reads all panels.
    const bool is_one_group = blocks <= (of_blocks + cache / 8) / block_bytes;
    groups = is_one_group ? 1 : (blocks + most_blocks - 1) / most_blocks;
    // If groups can be high enough to amortize the panels' bandwidth, each thread computes whole groups, which it packs
    // into its cache.
    constexpr std::int64_t kLeastBlocks = 4;
    const std::int64_t pieces = kPiecesPerThread / 2 * threads;
    by_groups = threads > 1 && blocks >= kLeastBlocks * pieces;
    if (by_groups) groups = (groups + pieces - 1) / pieces * pieces;
    group_blocks = (blocks + groups - 1) / groups;
    const std::int64_t panels = std::max<std::int64_t>(1, blocks_of(size.width));
    set_panels = std::clamp<std::int64_t>(cache / 4 / (group_blocks * kSumsBytes), 1, panels);
  }

  /// Returns the bytes of the packed rows of a group; sums_bytes returns those of the sums of a thread that wait for
  /// the next section.
  [[nodiscard]] std::optional<std::int64_t> packed_bytes(int parts) const {
    return checked_product(std::array<std::int64_t, 4>{group_blocks, steps, parts, kTilePart * 2});
  }
  [[nodiscard]] std::int64_t sums_bytes() const { return sections == 1 ? 0 : set_panels * group_blocks * kSumsBytes; }

  static constexpr std::int64_t kSumsBytes = kTileBlock * kTileBlock * 4;
  std::int64_t steps, blocks, sections, section_steps, groups, group_blocks, set_panels;
  bool by_groups;
};

Layout layout_of(int parts) { return {Layout::Kind::tiles, DType::bfloat16, parts}; }

std::int64_t packed_for(const Product::Size& size, int parts) {
  const std::array<std::int64_t, 4> factors{blocks_of(size.width) * kTileBlock, tile_steps(size.depth) * kTileDepth,
                                            parts, 2};
  return checked_product(factors).value_or(kMaxSize);
}

std::int64_t scratch_for(const Product::Size& size, int parts, int threads) {
  const Blocking blocking(size, parts, threads);
  const auto packed = blocking.packed_bytes(parts);
  if (!packed) return kMaxSize;
  const auto of_thread = checked_add(*packed, blocking.sums_bytes());
  return of_thread ? checked_mul(*of_thread, threads).value_or(kMaxSize) : kMaxSize;
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
        handover_(fusion.handover),
        has_residual_(fusion.residual),
        activation_(tile_activation(fusion.activation)),
        loop_(fusion.activation) {
    Packed unshared;
    Packed& shared = weights.packed == nullptr ? unshared : (*weights.packed)[layout_of(parts_)];
    if (!shared.bytes) shared.bytes = pack(weights);
    weights_ = shared.bytes;
    bias_.assign(static_cast<std::size_t>(panels_ * kTileBlock), 0.0F);
    if (fusion.bias != nullptr) read_bias(fusion.bias);
    engine.scratch.reserve(scratch_for(size, parts_, team_.threads));
    if (team_.threads > 1) {
      const std::int64_t wanted = kPiecesPerThread * team_.threads;
      column_pieces_ = std::min(panels_, wanted);
      row_pieces_ = std::min(blocking_.group_blocks, (wanted + column_pieces_ - 1) / column_pieces_);
    }
  }

  void run(const void* x, const void* residual, void* y) override {
    const Call call{x, residual, y};
    if (blocking_.by_groups) {
      parallel_for(blocking_.groups, team_, [&](std::int64_t g, int thread) {
        const Part part = group(g, thread);
        if (handover_.takes == nullptr) pack_rows(call, part, part.first_row, part.first_row + part.rows);
        multiply(call, part, thread);
      });
      return;
    }
    for (std::int64_t g = 0; g < blocking_.groups; ++g) {
      const Part whole = group(g, 0);
      const std::int64_t blocks = whole.last_block, row_pieces = std::min(row_pieces_, blocks);
      if (handover_.takes == nullptr) {
        parallel_ranges(whole.rows, team_, [&](std::int64_t begin, std::int64_t end) {
          pack_rows(call, whole, whole.first_row + begin, whole.first_row + end);
        });
      }
      parallel_for(column_pieces_ * row_pieces, team_, [&](std::int64_t piece, int thread) {
        const std::int64_t column = piece / row_pieces, row = piece % row_pieces;
        Part part = whole;
        part.first_panel = panels_ * column / column_pieces_;
        part.last_panel = panels_ * (column + 1) / column_pieces_;
        part.first_block = blocks * row / row_pieces;
        part.last_block = blocks * (row + 1) / row_pieces;
        multiply(call, part, thread);
      });
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_of(engine_.multiplication.tiles, parts_); }
  [[nodiscard]] std::int64_t bytes() const override {
    return packed_bytes_ + panels_ * kTileBlock * bytes_of(DType::float32);
  }

 private:
  struct Call {
    const void *x, *residual;
    void* y;
  };
  /// A range of panels, and a range of blocks within a group of rows.
  struct Part {
    Bfloat16* packed;
    std::int64_t first_panel, last_panel, first_block, last_block;
    std::int64_t first_row, rows;  // first row of the group in x, and number of its rows
  };
  struct Block {
    std::int64_t row, panel;  // index of 32 rows in the group, and of 32 columns
  };

  static Team team_of(Engine& engine, const Size& size) {
    // With few rows, the bandwidth of the weights limits the time.
    const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
    return engine.team_for(2.0 * rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
  }

  /// Returns a whole group, packed in a thread's scratch memory or by the previous product.
  [[nodiscard]] Part group(std::int64_t g, int thread) const {
    const std::int64_t first = blocking_.blocks * g / blocking_.groups;
    const std::int64_t last = blocking_.blocks * (g + 1) / blocking_.groups, row = first * kTileBlock;
    Bfloat16* const packed = handover_.takes != nullptr ? handed(first) : packed_of(thread);
    return {packed, 0, panels_, 0, last - first, row, std::min((last - first) * kTileBlock, size_.rows - row)};
  }

  /// Packs rows [first, last) of x.
  void pack_rows(const Call& call, const Part& part, std::int64_t first, std::int64_t last) const {
    while (first < last) {
      const std::int64_t i = first % kTileBlock, count = std::min(last - first, kTileBlock - i);
      pack_tile_rows(dtype_, advance(call.x, first * size_.depth), size_.depth, i, count, size_.depth, parts_,
                     packed_block(part, (first - part.first_row) / kTileBlock));
      first += count;
    }
  }

  /// Returns block b of the packed rows in the handover memory.
  [[nodiscard]] Bfloat16* handed(std::int64_t b) const {
    const bool takes = handover_.takes != nullptr;
    std::byte* const blocks = (takes ? handover_.takes : handover_.leaves)->get();
    return reinterpret_cast<Bfloat16*>(blocks) + b * tile_block_size(takes ? size_.depth : size_.width, parts_);
  }

  [[nodiscard]] Bfloat16* packed_block(const Part& part, std::int64_t b) const {
    return part.packed + b * tile_block_size(size_.depth, parts_);
  }

  void multiply(const Call& call, const Part& part, int thread) const {
    float* const waiting = sums_of(thread);
    if constexpr (Tiles::kMostParts == 1) {
      run_part<1>(call, part, waiting);
    } else {
      switch (parts_) {
        case 1:
          return run_part<1>(call, part, waiting);
        case 2:
          return run_part<2>(call, part, waiting);
        default:
          return run_part<3>(call, part, waiting);
      }
    }
  }

  std::shared_ptr<std::byte> pack(const Weights& weights) {
    packed_bytes_ = packed_for(size_, parts_);
    std::shared_ptr<std::byte> packed = engine_.weights.allocate(packed_bytes_);
    parallel_for(panels_, team_, [&](std::int64_t p, int) {
      const std::int64_t column = p * kTileBlock, width = std::min(kTileBlock, size_.width - column);
      Bfloat16* const block = reinterpret_cast<Bfloat16*>(packed.get()) + p * tile_block_size(size_.depth, parts_);
      if (weights.transposed) {
        std::vector<float> panel(static_cast<std::size_t>(size_.depth * kPanel));
        pack_panel(weights.columns_from(column, size_), size_.depth, width, panel.data());
        pack_tile_columns(DType::float32, panel.data(), size_.depth, width, kPanel, parts_, block);
      } else {
        pack_tile_columns(dtype_, advance(weights.numbers, column), size_.depth, width, size_.width, parts_, block);
      }
    });
    return packed;
  }

  [[nodiscard]] const void* advance(const void* from, std::int64_t numbers) const {
    return static_cast<const std::byte*>(from) + numbers * bytes_of(dtype_);
  }
  [[nodiscard]] Bfloat16* panel(std::int64_t p) const {
    return reinterpret_cast<Bfloat16*>(weights_.get()) + p * tile_block_size(size_.depth, parts_);
  }
  [[nodiscard]] const Bfloat16* section_of(std::int64_t p, std::int64_t section) const {
    return panel(p) + section * blocking_.section_steps * parts_ * kTilePart;
  }
  /// Returns a thread's memory for packed rows; the waiting sums follow it.
  [[nodiscard]] Bfloat16* packed_of(int thread) const {
    const std::int64_t bytes = blocking_.packed_bytes(parts_).value_or(0) + blocking_.sums_bytes();
    return reinterpret_cast<Bfloat16*>(engine_.scratch.get() + thread * bytes);
  }
  [[nodiscard]] float* sums_of(int thread) const {
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(packed_of(thread)) +
                                    blocking_.packed_bytes(parts_).value_or(0));
  }

  void read_bias(const void* bias) {
    if (dtype_ == DType::float32) {
      std::copy_n(static_cast<const float*>(bias), size_.width, bias_.data());
    } else {
      widen(dtype_, static_cast<const std::uint16_t*>(bias), bias_.data(), size_.width);
    }
  }

  template <int kParts>
  void run_part(const Call& call, const Part& part, float* waiting) const {
    const std::int64_t blocks = part.last_block - part.first_block;
    Tiles tiles;
    for (std::int64_t first = part.first_panel; first < part.last_panel; first += blocking_.set_panels) {
      const std::int64_t last = std::min(first + blocking_.set_panels, part.last_panel);
      for (std::int64_t section = 0; section < blocking_.sections; ++section) {
        float* earlier = waiting;
        for (std::int64_t p = first; p < last; ++p) {
          const bool is_last = p + 1 == last, is_done = is_last && section + 1 == blocking_.sections;
          Prefetch ahead =
              ahead_of<kParts>(blocks, is_done ? panel(last) : section_of(is_last ? first : p + 1, section + is_last));
          for (std::int64_t b = part.first_block; b < part.last_block; ++b, earlier += kSums) {
            alignas(64) std::array<float, kSums> sums;
            multiply_section<kParts>(tiles, section, packed_block(part, b), height(part, b), p, ahead,
                                     blocking_.sections == 1 ? sums.data() : earlier);
            if (section + 1 == blocking_.sections)
              finish(call, part, {b, p}, blocking_.sections == 1 ? sums.data() : earlier);
          }
        }
      }
    }
  }

  /// Returns the number of valid rows of a block of 32 rows.
  [[nodiscard]] static std::int64_t height(const Part& part, std::int64_t block) {
    return std::min(kTileBlock, part.rows - block * kTileBlock);
  }

  /// Prefetches a section of a panel while `blocks` blocks multiply another section.
  template <int kParts>
  [[nodiscard]] Prefetch ahead_of(std::int64_t blocks, const Bfloat16* next) const {
    constexpr std::int64_t kLine = 64, kPairs = kParts == 3 ? 6 : kParts == 2 ? 3 : 1, kProducts = 4 * kPairs;
    const std::int64_t lines = kParts * kTilePart * 2 / kLine;  // cache lines of one step
    return {reinterpret_cast<const char*>(next), (lines + blocks * kProducts - 1) / (blocks * kProducts)};
  }

  /// Adds the products of a section to a block's sums; the first section starts the sums.
  template <int kParts>
  void multiply_section(Tiles& tiles, std::int64_t section, const Bfloat16* x, std::int64_t rows, std::int64_t p,
                        Prefetch& ahead, float* sums) const {
    const std::int64_t first = section * blocking_.section_steps;
    const std::int64_t last = std::min(first + blocking_.section_steps, blocking_.steps);
    const Bfloat16* w = section_of(p, section);
    x += first * kParts * kTilePart;
    if constexpr (kParts == 1) {
      multiply_tile_block<1, true>(tiles, x, w, last - first, rows, ahead, sums, kTileBlock,
                                   section > 0 ? sums : nullptr);
    } else {
      alignas(64) std::array<float, kSums> next;
      for (std::int64_t step = first; step < last; step += kSumSteps) {
        multiply_tile_block<kParts, true>(tiles, x, w, std::min(kSumSteps, last - step), rows, ahead,
                                          step == 0 ? sums : next.data());
        if (step > 0) add_to(sums, next.data(), rows * kTileBlock);
        x += kSumSteps * kParts * kTilePart;
        w += kSumSteps * kParts * kTilePart;
      }
    }
  }

  /// Converts a block's sums to elements of y, or to a step of the next product's x.
  void finish(const Call& call, const Part& part, const Block& block, float* sums) const {
    const std::int64_t column = block.panel * kTileBlock, rows = height(part, block.row);
    if (handover_.leaves != nullptr) {
      Bfloat16* const step = handed(part.first_row / kTileBlock + block.row) + block.panel * parts_ * kTilePart;
      if (dtype_ == DType::bfloat16)
        return finish(part, block, sums, {dtype_, step, nullptr, rows, kTileBlock, kTileBlock});
      alignas(64) std::array<float, kSums> y;
      finish(part, block, sums, {dtype_, y.data(), nullptr, rows, kTileBlock, kTileBlock});
      return pack_tile_rows(dtype_, y.data(), kTileBlock, 0, rows, kTileBlock, parts_, step);
    }
    const std::int64_t at = ((part.first_row + block.row * kTileBlock) * size_.width + column) * bytes_of(dtype_);
    finish(part, block, sums,
           {dtype_, static_cast<std::byte*>(call.y) + at,
            has_residual_ ? static_cast<const std::byte*>(call.residual) + at : nullptr, rows,
            std::min(kTileBlock, size_.width - column), size_.width});
  }

  void finish(const Part& part, const Block& block, float* sums, const TileOutput& out) const {
    static constexpr std::array<float, kTileBlock> kZeros{};
    const std::int64_t rows = out.rows;
    const float* const bias = bias_.data() + block.panel * kTileBlock;
    const auto repair = [&] { repair_rows(packed_block(part, block.row), block.panel, rows, sums); };
    if (activation_ != TileActivation::other) {
      if (store_epilogue(sums, bias, activation_, out)) return;
      repair();
      store_epilogue(sums, bias, activation_, out);
    } else {
      if (!is_finite(sums, rows * kTileBlock)) repair();
      add_bias(sums, bias, rows);
      loop_(sums, sums, rows * kTileBlock);
      store_epilogue(sums, kZeros.data(), TileActivation::none, out);
    }
  }

  /// Recomputes results that are not finite, from whole numbers. An infinity times a part that is 0 or of opposite sign
  /// is NaN, although the whole product is not. A product of first parts may overflow although the sum does not.
  void repair_rows(const Bfloat16* x, std::int64_t p, std::int64_t rows, float* sums) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const row = sums + i * kTileBlock;
      if (!is_finite(row, kTileBlock)) multiply_tile_row(x, i, panel(p), size_.depth, parts_, row);
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
  Handover handover_;
  bool has_residual_;
  TileActivation activation_;
  UnaryLoop loop_;  // the activation, if tiles do not compute it
  std::int64_t column_pieces_ = 1, row_pieces_ = 1;
  std::int64_t packed_bytes_ = 0;
  std::shared_ptr<std::byte> weights_;  // panels of 32 columns in the layout of amx_pack.h
  std::vector<float> bias_;             // padded to whole panels
};

int parts_of(const ProductQuery& query) { return tile_parts(query.dtype, query.multiplication.precision); }

bool takes(const ProductQuery& query) {
  const Tiles tiles = query.multiplication.tiles;
  const bool takes_dtype = query.dtype == DType::float32 || query.dtype == DType::bfloat16;
  if (tiles == Tiles::none || !takes_dtype || query.weights != query.dtype) return false;
  const int parts = parts_of(query);
  // Dot products are only twice as fast as float32: too slow for more parts.
  if (tiles == Tiles::dots) return parts == 1;
  return tiles == Tiles::emulated || query.size.rows >= least_rows(parts);
}

Layout layout(const ProductQuery& query) { return layout_of(parts_of(query)); }

std::int64_t packed_bytes(const ProductQuery& query) { return packed_for(query.size, parts_of(query)); }

std::int64_t held_bytes(const ProductQuery& query) {
  const std::array<std::int64_t, 3> factors{blocks_of(query.size.width), kTileBlock, bytes_of(DType::float32)};
  return checked_product(factors).value_or(kMaxSize);
}

std::int64_t scratch_bytes(const ProductQuery& query, int threads) {
  return scratch_for(query.size, parts_of(query), threads);
}

std::unique_ptr<Product> make(Engine& engine, const Product::Size& size, DType dtype, const Product::Weights& weights,
                              const Product::Fusion& fusion) {
#if defined(__x86_64__)
  if (engine.multiplication.tiles == Tiles::amx)
    return std::make_unique<TileProduct<AmxTiles>>(engine, size, dtype, weights, fusion);
  if (engine.multiplication.tiles == Tiles::dots)
    return std::make_unique<TileProduct<DotProducts>>(engine, size, dtype, weights, fusion);
#endif
  return std::make_unique<TileProduct<EmulatedTiles>>(engine, size, dtype, weights, fusion);
}

}  // namespace

int tile_parts(DType dtype, MatmulPrecision precision) {
  if (dtype == DType::bfloat16) return 1;
  return precision == MatmulPrecision::highest ? 3 : precision == MatmulPrecision::high ? 2 : 1;
}

constinit const ProductInfo kTileProduct{takes,
                                         layout,
                                         packed_bytes,
                                         held_bytes,
                                         scratch_bytes,
                                         make,
                                         /*hands_over=*/true,
                                         /*is_library=*/false};

}  // namespace attn::backends::cpu
