// Attention without stored probabilities. A block of query rows processes one tile of keys at a time, with a running
// maximum and sum per row (online softmax). Memory grows linearly with S; scores stay in the L1 cache.
#include <algorithm>
#include <cmath>

#include "attention_heads.h"
#include "online_softmax.h"
#include "operations/loops.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Keys per tile, and scores and rows per block. The scores fit into the L1 cache together with the operands.
constexpr std::int64_t kTile = 256, kScores = 9'216, kMostRows = 96;

std::int64_t tile_for(std::int64_t keys) { return std::clamp(padded(keys), kPanel, kTile); }
std::int64_t rows_for(std::int64_t keys) { return std::min(kScores / tile_for(keys), kMostRows); }

/// Returns the bytes of scratch memory for one thread.
std::int64_t scratch_for(std::int64_t keys, std::int64_t head_size, std::int64_t value_size) {
  const std::int64_t rows = rows_for(keys), tile = tile_for(keys);
  return scratch_size({{rows, tile},
                       {rows, padded(value_size)},
                       {head_size, padded(keys)},
                       {keys, padded(value_size)},
                       {kept_rows(rows), 3}},
                      rows * tile + (keys + tile - 1) / tile);
}

class FlashAttention final : public Kernel {
 public:
  explicit FlashAttention(const Step& step) : engine_(step.engine), heads_(step) {
    tile_ = tile_for(heads_.S);
    rows_ = rows_for(heads_.S);
    padded_v_ = padded(heads_.V);
    team_ = heads_.team(engine_);
    pieces_ = heads_.pieces(team_, rows_);
    scratch_bytes_ = scratch_for(heads_.S, heads_.H, heads_.V);
    engine_.scratch.reserve(team_.threads * scratch_bytes_);
    factor_ = heads_.scale * kLog2E;
  }

  void run() override {
    heads_.for_each_piece(
        team_, pieces_,
        [&](const Sequence& sequence, std::int64_t n, std::int64_t begin, std::int64_t end, int thread) {
          const Scratch scratch = scratch_of(thread);
          heads_.pack(sequence, n, scratch.keys, scratch.values);
          if (heads_.is_masked()) find_finite(sequence.S, scratch);
          // Splits the rows into blocks of similar height.
          const std::int64_t blocks = (end - begin + rows_ - 1) / rows_;
          for (std::int64_t block = 0; block < blocks; ++block) {
            const std::int64_t first = begin + (end - begin) * block / blocks;
            const std::int64_t rows = begin + (end - begin) * (block + 1) / blocks - first;
            // Tiles that are hidden from all rows are skipped. If it turns out that a row sees no key at all, the block
            // is computed again without skipping.
            if (!attend(sequence, n, first, rows, heads_.is_masked(), scratch))
              attend(sequence, n, first, rows, false, scratch);
          }
        });
  }

  [[nodiscard]] std::string_view name() const override { return "flash attention"; }

 private:
  using Sequence = AttentionHeads::Sequence;

  struct Scratch {
    float* scores;   // (rows, tile)
    float* context;  // (rows, padded V), not yet divided by the sums
    float* keys;     // padded S / kPanel panels (H, kPanel)
    float* values;   // padded V / kPanel panels (S, kPanel)
    RunningRows running;
    std::uint8_t* seen;    // (rows, tile)
    std::uint8_t* finite;  // for each tile, whether all values are finite
  };

  [[nodiscard]] Scratch scratch_of(int thread) const {
    auto* const scores = reinterpret_cast<float*>(engine_.scratch.get() + thread * scratch_bytes_);
    float* const context = scores + rows_ * tile_;
    float* const keys = context + rows_ * padded_v_;
    float* const values = keys + heads_.H * padded(heads_.S);
    float* const maxima = values + heads_.S * padded_v_;
    const std::int64_t kept = kept_rows(rows_);
    auto* const seen = reinterpret_cast<std::uint8_t*>(maxima + 3 * kept);
    return {scores, context, keys, values, {maxima, maxima + kept, maxima + 2 * kept}, seen, seen + rows_ * tile_};
  }

  /// Computes the context of queries [first, first + rows) of head n. Returns false if skipped tiles have a weight
  /// after all.
  bool attend(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows, bool skips,
              const Scratch& scratch) const {
    const std::int64_t S = sequence.S;
    begin_rows(scratch.running, rows);
    bool skipped = false, begun = false;
    for (std::int64_t s = 0; s < S; s += tile_) {
      const std::int64_t keys = std::min(tile_, S - s);
      const bool sees =
          !heads_.is_masked() || heads_.find_seen(sequence, n, first, rows, s, s + keys, scratch.seen, tile_);
      if (!sees && skips && scratch.finite[s / tile_] != 0) {
        skipped = true;
      } else {
        add_tile(sequence, n, first, rows, s, keys, begun, scratch);
        begun = true;
      }
    }
    if (!begun) std::fill_n(scratch.context, rows * padded_v_, 0.0F);
    if (skipped && !heads_.hides_fully(scratch.running.maxima, rows)) return false;
    if (heads_.op.lse) {
      heads_.write_lse(sequence, n, first, rows, scratch.running.maxima, scratch.running.sums, heads_.scale,
                       heads_.hidden_score);
    }
    float* const context = heads_.context(sequence, n, first);
    for (std::int64_t r = 0; r < rows; ++r) {
      scale_row(scratch.context + r * padded_v_, 1.0F / scratch.running.sums[r], context + r * heads_.context_stride(),
                heads_.V);
    }
    return true;
  }

  /// Finds tiles with values that are not finite. They must not be skipped, because weight 0 times NaN is NaN.
  void find_finite(std::int64_t S, const Scratch& scratch) const {
    for (std::int64_t s = 0; s < S; s += tile_) {
      bool finite = true;
      for (std::int64_t v = 0; v < padded_v_; v += kPanel)
        finite = finite && is_finite(scratch.values + v * S + s * kPanel, std::min(tile_, S - s) * kPanel);
      scratch.finite[s / tile_] = finite ? 1 : 0;
    }
  }

  /// Processes a tile. With `adds`, it is added to the context of earlier tiles.
  void add_tile(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows, std::int64_t s,
                std::int64_t keys, bool adds, const Scratch& scratch) const {
    const View query{heads_.query(sequence, n, first), heads_.query_stride(), 1};
    for (std::int64_t i = 0; i < keys; i += kPanel) {
      multiply_panel({.x = query,
                      .panel = scratch.keys + (s + i) * heads_.H,
                      .rows = rows,
                      .depth = heads_.H,
                      .y = scratch.scores + i,
                      .stride = tile_,
                      .columns = whole_vectors(keys - i)});
    }
    const bool masked = heads_.is_masked();
    for (std::int64_t r = 0; masked && r < rows; ++r)
      hide(scratch.scores + r * tile_, scratch.seen + r * tile_, heads_.hidden_score, keys);
    soften(scratch.scores, tile_, rows, keys, factor_, scratch.running);
    for (std::int64_t r = 0; masked && heads_.op.path == graph::AttentionPath::explicit_ && r < rows; ++r)
      clear_hidden(scratch.scores + r * tile_, scratch.seen + r * tile_, keys);
    for (std::int64_t r = 0; adds && r < rows; ++r) {
      float* const context = scratch.context + r * padded_v_;
      const float shrink = scratch.running.shrinks[r];
      if (shrink != 1.0F) scale_row(context, shrink, context, padded_v_);
    }
    for (std::int64_t v = 0; v < heads_.V; v += kPanel) {
      multiply_panel({.x = {scratch.scores, tile_, 1},
                      .panel = scratch.values + v * sequence.S + s * kPanel,
                      .rows = rows,
                      .depth = keys,
                      .y = scratch.context + v,
                      .stride = padded_v_,
                      .columns = whole_vectors(heads_.V - v),
                      .adds = adds});
    }
  }

  Engine& engine_;
  AttentionHeads heads_;
  std::int64_t tile_ = 0, rows_ = 0, padded_v_ = 0, pieces_ = 0, scratch_bytes_ = 0;
  float factor_ = 0;
  Team team_;
};

}  // namespace

std::string why_not_flash(const StepInfo& step) {
  const auto& op = step.op<graph::Attention>();
  if (op.scores) return "its scores are requested";
  if (op.bias || op.soft_cap > 0.0) return "it has a bias or a soft cap";
  // A running maximum of the scores is also that of the scaled scores only if the scale is above 0.
  return op.scale > 0 ? "" : "its scale is not above 0";
}

MemoryNeeds flash_attention_needs(const StepInfo& step) {
  const AttentionSize size(step);
  return scratch_of_threads(step, scratch_for(size.keys, size.head_size, size.value_size));
}

std::unique_ptr<Kernel> make_flash_attention(const Step& step) { return std::make_unique<FlashAttention>(step); }

}  // namespace attn::backends::cpu
