// Attention that also returns its probabilities. A block of query rows of one head is processed in three steps: all
// scores in scratch memory, a softmax of each row, then the context.
#include <algorithm>
#include <cmath>

#include "attention_heads.h"
#include "online_softmax.h"
#include "operations/loops.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// x = scale·x where `seen` is not 0; elsewhere x = `hidden`.
ATTN_VECTORIZED(void, mask_row, float* x, const std::uint8_t* seen, float scale, float hidden, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = seen[i] != 0 ? scale * x[i] : hidden;
}

// Maximum scores of a block, which should fit into the L2 cache; minimum and maximum rows of a block.
constexpr std::int64_t kScores = 131'072, kLeastRows = 6, kMostRows = 96;

/// Returns the rows per block.
std::int64_t rows_for(std::int64_t keys) {
  return std::clamp<std::int64_t>(kScores / std::max(padded(keys), kPanel), kLeastRows, kMostRows);
}

/// Returns the bytes of scratch memory for one thread.
std::int64_t scratch_for(std::int64_t keys, std::int64_t head_size, std::int64_t value_size) {
  const std::int64_t rows = rows_for(keys);
  return scratch_size(
      {{rows, padded(keys)}, {head_size, padded(keys)}, {keys, padded(value_size)}, {kept_rows(rows), 3}},
      rows * padded(keys));
}

class RowAttention final : public Kernel {
 public:
  explicit RowAttention(const Step& step) : engine_(step.engine), heads_(step) {
    rows_ = rows_for(heads_.S);
    team_ = heads_.team(engine_);
    pieces_ = heads_.pieces(team_, rows_);
    scratch_bytes_ = scratch_for(heads_.S, heads_.H, heads_.V);
    engine_.scratch.reserve(team_.threads * scratch_bytes_);
  }

  void run() override {
    heads_.for_each_piece(
        team_, pieces_,
        [&](const Sequence& sequence, std::int64_t n, std::int64_t begin, std::int64_t end, int thread) {
          const Scratch scratch = scratch_of(thread);
          heads_.pack(sequence, n, scratch.keys, scratch.values);
          for (std::int64_t t = begin; t < end; t += rows_) attend(sequence, n, t, std::min(rows_, end - t), scratch);
        });
  }

  [[nodiscard]] std::string_view name() const override { return "row attention"; }

 private:
  using Sequence = AttentionHeads::Sequence;

  struct Scratch {
    float* scores;  // (rows, padded S)
    float* keys;    // padded S / kPanel panels (H, kPanel)
    float* values;  // padded V / kPanel panels (S, kPanel)
    RunningRows running;
    std::uint8_t* seen;  // (rows, padded S)
  };

  [[nodiscard]] Scratch scratch_of(int thread) const {
    auto* const scores = reinterpret_cast<float*>(engine_.scratch.get() + thread * scratch_bytes_);
    float* const keys = scores + rows_ * padded(heads_.S);
    float* const values = keys + heads_.H * padded(heads_.S);
    float* const maxima = values + heads_.S * padded(heads_.V);
    const std::int64_t kept = kept_rows(rows_);
    return {scores,
            keys,
            values,
            {maxima, maxima + kept, maxima + 2 * kept},
            reinterpret_cast<std::uint8_t*>(maxima + 3 * kept)};
  }

  /// Computes the scores and context of queries [first, first + rows) of head n.
  void attend(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows,
              const Scratch& scratch) const {
    const std::int64_t S = sequence.S, stride = padded(heads_.S);
    const View query{heads_.query(sequence, n, first), heads_.query_stride(), 1};
    for (std::int64_t s = 0; s < S; s += kPanel) {
      multiply_panel({.x = query,
                      .panel = scratch.keys + s * heads_.H,
                      .rows = rows,
                      .depth = heads_.H,
                      .y = scratch.scores + s,
                      .stride = stride,
                      .columns = whole_vectors(S - s)});
    }
    const bool masked = heads_.is_masked();
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const row = scratch.scores + r * stride;
      std::uint8_t* const seen = scratch.seen + r * stride;
      if (heads_.shapes_scores()) heads_.shape_scores(sequence, n, first + r, row);
      const float scale = heads_.shapes_scores() ? 1.0F : heads_.scale;
      if (masked) {
        heads_.find_seen(sequence, n, first + r, 0, S, seen);
        mask_row(row, seen, scale, heads_.hidden, S);
      } else if (scale != 1.0F) {
        scale_row(row, scale, row, S);
      }
    }
    begin_rows(scratch.running, rows);
    soften(scratch.scores, stride, rows, S, kLog2E, scratch.running);
    if (heads_.op.lse) {
      heads_.write_lse(sequence, n, first, rows, scratch.running.maxima, scratch.running.sums, 1.0F, heads_.hidden);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const row = scratch.scores + r * stride;
      scale_row(row, 1.0F / scratch.running.sums[r], row, S);
      if (masked && heads_.op.path == graph::AttentionPath::explicit_) clear_hidden(row, scratch.seen + r * stride, S);
      if (heads_.op.scores) std::copy_n(row, S, heads_.scores(sequence, n, first + r));
    }
    for (std::int64_t v = 0; v < heads_.V; v += kPanel) {
      multiply_panel({.x = {scratch.scores, stride, 1},
                      .panel = scratch.values + v * S,
                      .rows = rows,
                      .depth = S,
                      .y = heads_.context(sequence, n, first) + v,
                      .stride = heads_.context_stride(),
                      .columns = std::min(kPanel, heads_.V - v)});
    }
  }

  Engine& engine_;
  AttentionHeads heads_;
  std::int64_t rows_ = 0, pieces_ = 0, scratch_bytes_ = 0;
  Team team_;
};

MemoryNeeds needs_of(const StepInfo& step) {
  const AttentionSize size(step);
  return scratch_of_threads(step, scratch_for(size.keys, size.head_size, size.value_size));
}

}  // namespace

Kernels kernels_of(const graph::Attention&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32_or_bfloat16, why_not_on_tiles, tile_attention_needs, make_tile_attention},
      {KernelDType::float32, why_not_flash, flash_attention_needs, make_flash_attention},
      {KernelDType::float32, takes_all, needs_of, make_as<RowAttention>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
