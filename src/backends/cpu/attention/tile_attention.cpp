// Attention on tiles: 32 query rows process one tile of keys at a time, as in flash_attention.cpp. Keys and values of a
// head are packed once; several blocks of rows use them while they are in the L2 cache. If the probabilities are
// requested, one tile has all keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "attention_heads.h"
#include "gemm/amx_kernel.h"
#include "gemm/amx_product.h"
#include "gemm/dot_kernel.h"
#include "online_softmax.h"
#include "operations/loops.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Maximum number of blocks of 32 queries that process keys together.
constexpr std::int64_t kMostBlocks = 4;

/// The layout of a thread's scratch memory.
struct ScratchLayout {
  ScratchLayout(const graph::Attention& op, int parts, std::int64_t keys, std::int64_t head_size,
                std::int64_t value_size)
      : padded_s(padded(keys)),
        padded_v(padded(value_size)),
        tile(op.scores ? padded_s : std::min<std::int64_t>(padded_s, parts == 1 ? 256 : 128)),
        query_block(tile_block_size(head_size, parts)),
        value_block(tile_block_size(padded_s, parts)) {}

  std::int64_t padded_s, padded_v, tile;
  std::int64_t query_block, value_block;  // size of a packed block of 32 queries or keys, and of 32 features
};

/// Returns the bytes of scratch memory for one thread.
std::int64_t scratch_for(const ScratchLayout& layout, int parts, std::int64_t keys, std::int64_t head_size) {
  constexpr std::int64_t kRows = kMostBlocks * kTileBlock;
  const std::int64_t step = parts * kTilePart / 2;  // floats of one step of a packed block
  return scratch_size({{kTileBlock, layout.tile},
                       {kRows, layout.padded_v},
                       {kTileBlock, kTileBlock},
                       {kRows, 3},
                       {tile_steps(head_size) * step, kMostBlocks},
                       {tile_steps(layout.tile) * step, 1},
                       {tile_steps(head_size) * step, layout.padded_s / kTileBlock},
                       {tile_steps(layout.padded_s) * step, layout.padded_v / kTileBlock},
                       {kTileBlock / static_cast<std::int64_t>(sizeof(float)), layout.tile}},
                      (keys + layout.tile - 1) / layout.tile);
}

/// context = shrink·context + sums, row by row, for 32 columns.
ATTN_VECTORIZED(void, add_context, float* context, std::int64_t stride, const float* sums, const float* shrinks,
                std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t v = 0; v < kTileBlock; v += kLanes) {
      Lanes x, sum;
      load(context + r * stride + v, x);
      load(sums + r * kTileBlock + v, sum);
      x = x * shrinks[r] + sum;
      store(x, context + r * stride + v);
    }
  }
}

ATTN_VECTORIZED(void, write_scaled_bfloat16, const float* x, float factor, Bfloat16* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers;
    load_some(x + i, size - i, numbers);
    store_some(numbers * factor, size - i, y + i);
  }
}

void write_scaled(const float* x, float factor, float* y, std::int64_t size) { scale_row(x, factor, y, size); }
void write_scaled(const float* x, float factor, Bfloat16* y, std::int64_t size) {
  write_scaled_bfloat16(x, factor, y, size);
}

/// Returns the largest |x| of the rows; NaN counts as larger than any number.
ATTN_VECTORIZED(float, largest_float, const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  std::int32_t most = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int32_t bits = std::bit_cast<std::int32_t>(x[r * stride + i]) & 0x7FFFFFFF;
      most = bits > most ? bits : most;
    }
  }
  return std::bit_cast<float>(most);
}

ATTN_VECTORIZED(float, largest_bfloat16, const Bfloat16* x, std::int64_t stride, std::int64_t rows,
                std::int64_t columns) {
  Bfloat16 most = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const auto bits = static_cast<Bfloat16>(x[r * stride + i] & 0x7FFF);
      most = bits > most ? bits : most;
    }
  }
  return std::bit_cast<float>(static_cast<std::uint32_t>(most) << 16);
}

float largest(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  return largest_float(x, stride, rows, columns);
}
float largest(const Bfloat16* x, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  return largest_bfloat16(x, stride, rows, columns);
}

template <typename Tiles, typename Number, int kParts>
class TileAttention final : public Kernel {
 public:
  explicit TileAttention(const Step& step)
      : engine_(step.engine), heads_(step), layout_(heads_.op, kParts, heads_.S, heads_.H, heads_.V) {
    team_ = heads_.team(engine_);
    pieces_ = heads_.pieces(team_, kTileBlock);
    scratch_bytes_ = scratch_for(layout_, kParts, heads_.S, heads_.H);
    engine_.scratch.reserve(team_.threads * scratch_bytes_);
    factor_ = heads_.scale * kLog2E;
  }

  void run() override {
    heads_.for_each_piece(
        team_, pieces_,
        [&](const Sequence& sequence, std::int64_t n, std::int64_t begin, std::int64_t end, int thread) {
          Head head{sequence, n, scratch_of(thread)};
          pack(head);
          Tiles tiles;
          constexpr std::int64_t kMostRows = kMostBlocks * kTileBlock;
          for (std::int64_t first = begin; first < end; first += kMostRows)
            attend(tiles, head, first, std::min(kMostRows, end - first), heads_.is_masked());
        });
  }

  [[nodiscard]] std::string_view name() const override {
    return heads_.op.scores ? "row attention on tiles" : "flash attention on tiles";
  }

 private:
  using Sequence = AttentionHeads::Sequence;
  static constexpr DType kDType = std::is_same_v<Number, float> ? DType::float32 : DType::bfloat16;

  struct Scratch {
    float* scores;            // (32, tile)
    float* context;           // (32, padded V) for each block, not yet divided by the sums
    float* sums;              // (32, 32)
    RunningRows running;      // for the rows of all blocks
    Bfloat16* queries;        // (blocks) packed queries
    Bfloat16* weights;        // packed weights of a block for a tile
    Bfloat16 *keys, *values;  // packed blocks of 32 keys, and of 32 features of the values
    std::uint8_t* seen;       // (32, tile)
    std::uint8_t* finite;     // for each tile, whether all values are finite
  };

  /// The packed keys and values of a head of a sequence.
  struct Head {
    Sequence sequence;
    std::int64_t n;
    Scratch scratch;
    float largest_key = 0, largest_value = 0;
  };

  [[nodiscard]] Scratch scratch_of(int thread) const {
    Scratch scratch;
    auto* const floats = reinterpret_cast<float*>(engine_.scratch.get() + thread * scratch_bytes_);
    scratch.scores = floats;
    scratch.context = scratch.scores + kTileBlock * layout_.tile;
    scratch.sums = scratch.context + kMostBlocks * kTileBlock * layout_.padded_v;
    float* const maxima = scratch.sums + kTileBlock * kTileBlock;
    constexpr std::int64_t kRows = kMostBlocks * kTileBlock;
    scratch.running = {maxima, maxima + kRows, maxima + 2 * kRows};
    scratch.queries = reinterpret_cast<Bfloat16*>(maxima + 3 * kRows);
    scratch.weights = scratch.queries + kMostBlocks * layout_.query_block;
    scratch.keys = scratch.weights + tile_block_size(layout_.tile, kParts);
    scratch.values = scratch.keys + layout_.padded_s / kTileBlock * layout_.query_block;
    scratch.seen =
        reinterpret_cast<std::uint8_t*>(scratch.values + layout_.padded_v / kTileBlock * layout_.value_block);
    scratch.finite = scratch.seen + kTileBlock * layout_.tile;
    return scratch;
  }

  [[nodiscard]] RunningRows running_of(const Head& head, std::int64_t block) const {
    const RunningRows& all = head.scratch.running;
    const std::int64_t first = block * kTileBlock;
    return {all.maxima + first, all.sums + first, all.shrinks + first};
  }

  void pack(Head& head) const {
    const std::int64_t S = head.sequence.S;
    const auto* const key = heads_.template key<Number>(head.sequence, head.n);
    const auto* const value = heads_.template value<Number>(head.sequence, head.n);
    for (std::int64_t s = 0; s < S; s += kTileBlock) {
      Bfloat16* const block = head.scratch.keys + s / kTileBlock * layout_.query_block;
      pack_rows(key + s * heads_.key_stride(), heads_.key_stride(), std::min(kTileBlock, S - s), block);
      transpose_tile_block(heads_.H, kParts, block);
    }
    for (std::int64_t v = 0; v < heads_.V; v += kTileBlock) {
      pack_tile_columns(kDType, value + v, S, std::min(kTileBlock, heads_.V - v), heads_.value_stride(), kParts,
                        head.scratch.values + v / kTileBlock * layout_.value_block);
    }
    head.largest_key = largest(key, heads_.key_stride(), S, heads_.H);
    head.largest_value = largest(value, heads_.value_stride(), S, heads_.V);
    for (std::int64_t s = 0; heads_.is_masked() && s < S; s += layout_.tile) {
      const std::int64_t stride = heads_.value_stride();
      const float most = largest(value + s * stride, stride, std::min(layout_.tile, S - s), heads_.V);
      head.scratch.finite[s / layout_.tile] = std::isfinite(most) ? 1 : 0;
    }
  }

  /// Packs 32 rows, of which `rows` are valid. The others affect only their own scores, which are not read.
  void pack_rows(const Number* from, std::int64_t stride, std::int64_t rows, Bfloat16* block) const {
    pack_tile_rows(kDType, from, stride, 0, std::min(rows, kTileBlock), heads_.H, kParts, block);
  }

  /// Returns whether sums of parts equal sums of numbers, which holds if no sum comes near the largest float.
  [[nodiscard]] static bool is_safe(float x, float y, std::int64_t terms) {
    return x * y * static_cast<float>(terms) < 1e37F;
  }

  /// Computes the context of queries [first, first + rows). With `skips`, tiles that are hidden from all rows of a
  /// block are skipped.
  void attend(Tiles& tiles, const Head& head, std::int64_t first, std::int64_t rows, bool skips) const {
    const std::int64_t S = head.sequence.S, blocks = (rows + kTileBlock - 1) / kTileBlock;
    const Scratch& scratch = head.scratch;
    begin_rows(scratch.running, rows);
    std::fill_n(scratch.context, blocks * kTileBlock * layout_.padded_v, 0.0F);
    const std::int64_t stride = heads_.query_stride();
    const auto* const query = heads_.template query<Number>(head.sequence, head.n, first);
    for (std::int64_t b = 0; b < blocks; ++b) {
      pack_rows(query + b * kTileBlock * stride, stride, rows - b * kTileBlock,
                scratch.queries + b * layout_.query_block);
    }
    const bool safe = is_safe(head.largest_key, largest(query, stride, rows, heads_.H), heads_.H);
    std::array<bool, kMostBlocks> skipped{};
    for (std::int64_t s = 0; s < S; s += layout_.tile) {
      for (std::int64_t b = 0; b < blocks; ++b) {
        const Tile tile{b, first + b * kTileBlock, std::min(kTileBlock, rows - b * kTileBlock), s,
                        std::min(layout_.tile, S - s)};
        if (!find_seen(head, tile) && skips && scratch.finite[s / layout_.tile] != 0) {
          skipped[static_cast<std::size_t>(b)] = true;
        } else {
          add_tile(tiles, head, tile, safe);
        }
      }
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t row = first + b * kTileBlock, count = std::min(kTileBlock, rows - b * kTileBlock);
      if (!skipped[static_cast<std::size_t>(b)] || heads_.hides_fully(running_of(head, b).maxima, count)) {
        write_context(head, b, row, count);
        skipped[static_cast<std::size_t>(b)] = false;
      }
    }
    // If a row sees no key at all, hidden tiles have a weight, so the block is computed again without skipping.
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (skipped[static_cast<std::size_t>(b)])
        attend(tiles, head, first + b * kTileBlock, std::min(kTileBlock, rows - b * kTileBlock), false);
    }
  }

  void write_context(const Head& head, std::int64_t block, std::int64_t first, std::int64_t rows) const {
    const float* const context = head.scratch.context + block * kTileBlock * layout_.padded_v;
    const float* const sums = running_of(head, block).sums;
    auto* const to = heads_.template context<Number>(head.sequence, head.n, first);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float factor = heads_.op.scores ? 1.0F : 1.0F / sums[r];
      write_scaled(context + r * layout_.padded_v, factor, to + r * heads_.context_stride(), heads_.V);
    }
  }

  /// Up to 32 queries and a tile of keys.
  struct Tile {
    std::int64_t block, first, rows;
    std::int64_t s, keys;
  };

  [[nodiscard]] bool find_seen(const Head& head, const Tile& tile) const {
    return !heads_.is_masked() || heads_.find_seen(head.sequence, head.n, tile.first, tile.rows, tile.s,
                                                   tile.s + tile.keys, head.scratch.seen, layout_.tile);
  }

  void add_tile(Tiles& tiles, const Head& head, const Tile& tile, bool safe) const {
    const Scratch& scratch = head.scratch;
    const RunningRows running = running_of(head, tile.block);
    multiply_keys(tiles, head, tile, safe);
    const bool masked = heads_.is_masked();
    for (std::int64_t r = 0; masked && r < tile.rows; ++r)
      hide(scratch.scores + r * layout_.tile, scratch.seen + r * layout_.tile, heads_.hidden_score, tile.keys);
    const bool clears = masked && heads_.op.path == graph::AttentionPath::explicit_;
    if (!clears && !heads_.op.scores) {
      soften_into_tiles(scratch.scores, layout_.tile, tile.rows, tile.keys, factor_, running, kParts, scratch.weights);
      return multiply_values(tiles, head, tile);
    }
    soften(scratch.scores, layout_.tile, tile.rows, tile.keys, factor_, running);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      float* const row = scratch.scores + r * layout_.tile;
      if (heads_.op.scores) scale_row(row, 1.0F / running.sums[r], row, tile.keys);
      if (clears) clear_hidden(row, scratch.seen + r * layout_.tile, tile.keys);
      if (heads_.op.scores) {
        auto* const to = heads_.template scores<Number>(head.sequence, head.n, tile.first + r);
        write_scaled(row, 1.0F, to, tile.keys);
      }
      pack_tile_rows(DType::float32, row, layout_.tile, r, 1, tile.keys, kParts, scratch.weights);
    }
    multiply_values(tiles, head, tile);
  }

  void multiply_keys(Tiles& tiles, const Head& head, const Tile& tile, bool safe) const {
    const Scratch& scratch = head.scratch;
    const Bfloat16* const queries = scratch.queries + tile.block * layout_.query_block;
    Prefetch nothing{nullptr, 0};
    for (std::int64_t i = 0; i < tile.keys; i += kTileBlock) {
      const Bfloat16* const keys = scratch.keys + (tile.s + i) / kTileBlock * layout_.query_block;
      multiply_tile_block<kParts>(tiles, queries, keys, tile_steps(heads_.H), tile.rows, nothing, scratch.scores + i,
                                  layout_.tile);
      for (std::int64_t r = 0; !safe && r < tile.rows; ++r) {
        float* const row = scratch.scores + r * layout_.tile + i;
        if (!is_finite(row, kTileBlock)) multiply_tile_row(queries, r, keys, heads_.H, kParts, row);
      }
    }
  }

  void multiply_values(Tiles& tiles, const Head& head, const Tile& tile) const {
    const Scratch& scratch = head.scratch;
    const bool safe = is_safe(head.largest_value, 1.0F, tile.keys);
    Prefetch nothing{nullptr, 0};
    for (std::int64_t v = 0; v < heads_.V; v += kTileBlock) {
      const Bfloat16* const values =
          scratch.values + v / kTileBlock * layout_.value_block + tile.s / kTileDepth * kParts * kTilePart;
      multiply_tile_block<kParts>(tiles, scratch.weights, values, tile_steps(tile.keys), tile.rows, nothing,
                                  scratch.sums);
      for (std::int64_t r = 0; !safe && r < tile.rows; ++r) {
        float* const row = scratch.sums + r * kTileBlock;
        if (!is_finite(row, kTileBlock)) multiply_tile_row(scratch.weights, r, values, tile.keys, kParts, row);
      }
      add_context(scratch.context + tile.block * kTileBlock * layout_.padded_v + v, layout_.padded_v, scratch.sums,
                  running_of(head, tile.block).shrinks, tile.rows);
    }
  }

  Engine& engine_;
  AttentionHeads heads_;
  ScratchLayout layout_;
  std::int64_t pieces_ = 0, scratch_bytes_ = 0;
  float factor_ = 0;
  Team team_;
};

template <typename Tiles>
std::unique_ptr<Kernel> make_on(const Step& step) {
  if (step.inputs[0].dtype == DType::bfloat16) return std::make_unique<TileAttention<Tiles, Bfloat16, 1>>(step);
  if constexpr (Tiles::kMostParts == 3) {
    const int parts = tile_parts(DType::float32, step.engine.multiplication.precision);
    if (parts == 3) return std::make_unique<TileAttention<Tiles, float, 3>>(step);
    if (parts == 2) return std::make_unique<TileAttention<Tiles, float, 2>>(step);
  }
  return std::make_unique<TileAttention<Tiles, float, 1>>(step);
}

}  // namespace

std::string why_not_on_tiles(const StepInfo& step) {
  const Multiplication& multiplication = step.machine.multiplication;
  const DType dtype = step.inputs[0].dtype;
  const int parts = tile_parts(dtype, multiplication.precision);
  if (multiplication.tiles == Tiles::none) return "no tiles for it";
  const auto& op = step.op<graph::Attention>();
  if (!(op.scale > 0)) return "its scale is not above 0";
  if (op.bias || op.soft_cap > 0.0) return "it has a bias or a soft cap";
  if (op.lse) return "its log-sum-exp is requested";
  if (dtype == DType::bfloat16 || multiplication.tiles == Tiles::emulated) return "";
  if (multiplication.tiles == Tiles::dots) return parts == 1 ? "" : "dot products of this many parts are too slow";
  constexpr std::int64_t kLeastKeys = 256;  // with fewer keys, packing takes longer than the products save
  return parts < 3 || AttentionSize(step).keys >= kLeastKeys ? "" : "too few keys";
}

MemoryNeeds tile_attention_needs(const StepInfo& step) {
  const int parts = tile_parts(step.inputs[0].dtype, step.machine.multiplication.precision);
  const AttentionSize size(step);
  const ScratchLayout layout(step.op<graph::Attention>(), parts, size.keys, size.head_size, size.value_size);
  return scratch_of_threads(step, scratch_for(layout, parts, size.keys, size.head_size));
}

std::unique_ptr<Kernel> make_tile_attention(const Step& step) {
#if defined(__x86_64__)
  if (step.engine.multiplication.tiles == Tiles::amx) return make_on<AmxTiles>(step);
  if (step.engine.multiplication.tiles == Tiles::dots) return make_on<DotProducts>(step);
#endif
  return make_on<EmulatedTiles>(step);
}

}  // namespace attn::backends::cpu
