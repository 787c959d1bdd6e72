// The gradient of attention. Scores are recomputed for a block of queries and a tile of keys at a time. The
// probabilities follow from the scores and the log-sum-exp of the forward pass (Dao, FlashAttention-2, 2023, algorithm
// 2).
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/attention_heads.h"
#include "attention/online_softmax.h"
#include "attn/plan/bytes.h"
#include "operations/doubles.h"
#include "operations/loops.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Keys per tile, scores per block, and minimum and maximum rows per block.
constexpr std::int64_t kTile = 256, kScores = 16'384, kLeastRows = 16, kMostRows = 128;

std::int64_t tile_for(std::int64_t keys) { return std::clamp(padded(keys), kPanel, kTile); }
std::int64_t rows_for(std::int64_t keys) { return std::clamp(kScores / tile_for(keys), kLeastRows, kMostRows); }
/// Returns the row stride of transposed scores.
std::int64_t transposed_stride(std::int64_t keys) { return rows_for(keys) + kLanes; }

/// Computes eˣ to about 1 ulp, for x that exceeds 0 only by rounding; 0 below −87.
[[gnu::always_inline]] inline void exp_of_lanes(const Lanes& x, Lanes& to) {
  constexpr float kUnderflow = -87.3365479F, kRound = 12'582'912.0F;  // the rounding constant of exp2_below_0
  const Lanes clamped = x < kUnderflow ? Lanes{} + kUnderflow : x;
  const Lanes rounded = clamped * 1.44269504F + kRound, k = rounded - kRound;
  const Lanes r = (clamped - k * 0.693359375F) + k * 2.12194440e-4F;
  Lanes p = 1.9875691500e-4F * r + 1.3981999507e-3F;  // the polynomial of expm1_near_0
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Integers power = (reinterpret_cast<Integers>(rounded) << 23) + (127 << 23);
  to = x < kUnderflow ? Lanes{} : p * reinterpret_cast<Lanes>(power);
}

/// Computes the probabilities p = e^(scale·score − lse) in `scores`, and the gradients p·(dscores − delta)·scale in
/// `dscores`. If the tile has all keys of the row, delta is Σ p·dscores of the same numbers, so that terms cancel
/// exactly. Otherwise it is `delta`, the same sum computed from the context.
ATTN_VECTORIZED(void, slope_of_row, float* scores, float* dscores, float lse, float delta, bool whole, float scale,
                std::int64_t size) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes p;
    load(scores + i, p);
    exp_of_lanes(scale * p - lse, p);
    store(p, scores + i);
  }
  double less = delta;
  if (whole) {
    Doubles sums{};
    for (std::int64_t i = 0; i < size; i += kHalf) {
      Doubles p, d;
      load_some(scores + i, size - i, p);
      load_some(dscores + i, size - i, d);
      sums += p * d;
    }
    less = sum_of_halves(sums);
  }
  for (std::int64_t i = 0; i < size; i += kHalf) {
    Doubles p, d;
    load_some(scores + i, size - i, p);
    load_some(dscores + i, size - i, d);
    d = p * (d - less) * static_cast<double>(scale);
    store_some(d, size - i, dscores + i);
  }
}

ATTN_VECTORIZED(float, dot_of, const float* x, const float* y, std::int64_t size) {
  Lanes sums{};
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes a, b;
    load_some(x + i, size - i, a);
    load_some(y + i, size - i, b);
    sums += a * b;
  }
  return sum_of_lanes(sums);
}

/// to[j·to_stride + i] = x[i·stride + j] for i < rows, j < columns; both sides are padded to multiples of 16.
ATTN_VECTORIZED(void, turn, const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to,
                std::int64_t to_stride) {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    for (std::int64_t j = 0; j < columns; j += kLanes) {
      Lanes block[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) load(x + (i + lane) * stride + j, block[lane]);
      transpose(block);
      for (int lane = 0; lane < kLanes; ++lane) store(block[lane], to + (j + lane) * to_stride + i);
    }
  }
}

/// Runs `sums` over consecutive panels of `depth` rows, for `columns` columns of y.
void multiply_panels(PanelSums sums, std::int64_t depth, std::int64_t columns) {
  for (; columns > 0; columns -= kPanel) {
    sums.columns = std::min(kPanel, columns);
    multiply_panel(sums);
    sums.panel += depth * kPanel;
    sums.y += kPanel;
  }
}

/// y += factor·x
ATTN_VECTORIZED(void, add_scaled, float* y, float factor, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] += factor * x[i];
}

/// The scratch arrays of a thread: floats, followed by bytes.
struct ScratchLayout {
  ScratchLayout(std::int64_t keys, std::int64_t head_size, std::int64_t value_size)
      : rows(kept_rows(rows_for(keys))), tile(tile_for(keys)) {
    const std::int64_t sizes[] = {rows * tile,
                                  rows * tile,
                                  tile * transposed_stride(keys),
                                  head_size * padded(keys),
                                  value_size * padded(keys),
                                  keys * padded(head_size),
                                  rows * padded(head_size),
                                  rows * padded(value_size)};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      starts[i] = floats;
      floats = plan::sum_of_bytes({floats, sizes[i]});
    }
  }
  [[nodiscard]] std::int64_t bytes() const { return scratch_size({{floats, 1}}, rows * tile); }
  std::int64_t rows, tile, floats = 0;
  std::int64_t starts[8]{};
};

class AttentionGradKernel final : public Kernel {
 public:
  explicit AttentionGradKernel(const Step& step)
      : engine_(step.engine),
        heads_(step, step.op<graph::AttentionGrad>().forward),
        dq_(step.outputs[0]),
        dk_(step.outputs[1]),
        dv_(step.outputs[2]),
        layout_(heads_.S, heads_.H, heads_.V) {
    const std::size_t given = 3U + static_cast<std::size_t>(heads_.op.masks);
    context_ = step.inputs[given];
    lse_ = step.inputs[given + 1];
    dcontext_ = step.inputs[given + 2];
    const double pairs = static_cast<double>(heads_.B * heads_.N * heads_.T) * static_cast<double>(heads_.S);
    team_ = engine_.team_for(pairs * static_cast<double>(6 * heads_.H + 4 * heads_.V));
    engine_.scratch.reserve(team_.threads * layout_.bytes());
  }

  void run() override {
    parallel_for(heads_.B * heads_.K, team_, [&](std::int64_t item, int thread) {
      const AttentionHeads::Sequence sequence = heads_.sequence_of(item / heads_.K);
      go_back(sequence, item % heads_.K, scratch_of(thread));
    });
  }
  [[nodiscard]] std::string_view name() const override { return "flash attention, backwards"; }

 private:
  using Sequence = AttentionHeads::Sequence;

  struct Block {
    std::int64_t first, rows, s, keys;
    bool whole;  // whether the tile has all keys that the queries see
  };

  struct Scratch {
    float* scores;      // (rows, tile), later probabilities
    float* dscores;     // (rows, tile)
    float* transposed;  // (tile, rows): scores or dscores, transposed
    float* keys;        // panels (H, kPanel) of 32 keys
    float* values;      // panels (V, kPanel) of 32 keys
    float* features;    // panels (S, kPanel) of 32 features of the keys
    float* queries;     // panels (rows, kPanel) of 32 features of the queries
    float* outs;        // panels (rows, kPanel) of 32 features of dcontext
    std::uint8_t* seen;
  };

  [[nodiscard]] Scratch scratch_of(int thread) const {
    auto* const at = reinterpret_cast<float*>(engine_.scratch.get() + thread * layout_.bytes());
    const auto array = [&](int i) { return at + layout_.starts[i]; };
    return {array(0), array(1), array(2),
            array(3), array(4), array(5),
            array(6), array(7), reinterpret_cast<std::uint8_t*>(at + layout_.floats)};
  }

  [[nodiscard]] const float* dcontext(const Sequence& q, std::int64_t n, std::int64_t t) const {
    return dcontext_.data<float>() + ((q.b * heads_.T + t) * heads_.N + n) * heads_.V;
  }
  [[nodiscard]] float* dk(const Sequence& q, std::int64_t k, std::int64_t s) const {
    return dk_.data<float>() + ((q.b * heads_.S + s) * heads_.K + k) * heads_.H;
  }
  [[nodiscard]] float* dv(const Sequence& q, std::int64_t k, std::int64_t s) const {
    return dv_.data<float>() + ((q.b * heads_.S + s) * heads_.K + k) * heads_.V;
  }

  /// Processes all queries of the query heads that use key/value head k.
  void go_back(const Sequence& sequence, std::int64_t k, const Scratch& scratch) const {
    const std::int64_t group = heads_.N / heads_.K, S = heads_.S, H = heads_.H, V = heads_.V;
    for (std::int64_t s = 0; s < S; ++s) {
      std::fill_n(dk(sequence, k, s), H, 0.0F);
      std::fill_n(dv(sequence, k, s), V, 0.0F);
    }
    const float* const key = heads_.key(sequence, k * group);
    const float* const value = heads_.value(sequence, k * group);
    for (std::int64_t s = 0; s < S; s += kPanel) {
      const std::int64_t width = std::min(kPanel, S - s);
      pack_panel({key + s * heads_.key_stride(), 1, heads_.key_stride()}, H, width, scratch.keys + s * H);
      pack_panel({value + s * heads_.value_stride(), 1, heads_.value_stride()}, V, width, scratch.values + s * V);
    }
    for (std::int64_t h = 0; h < H; h += kPanel)
      pack_panel({key + h, heads_.key_stride(), 1}, S, std::min(kPanel, H - h), scratch.features + h * S);
    const std::int64_t most = rows_for(S), blocks = (heads_.T + most - 1) / most;
    for (std::int64_t n = k * group; n < (k + 1) * group; ++n) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t first = heads_.T * block / blocks;
        go_back(sequence, n, first, heads_.T * (block + 1) / blocks - first, scratch);
      }
    }
  }

  /// Processes queries [first, first + rows) of head n.
  void go_back(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows,
               const Scratch& scratch) const {
    const std::int64_t H = heads_.H, V = heads_.V;
    float lse[kMostRows], delta[kMostRows];
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = (sequence.b * heads_.N + n) * heads_.T + first + r;
      const float logarithm = lse_.data<float>()[row];
      const float* const context = context_.data<float>() + ((sequence.b * heads_.T + first + r) * heads_.N + n) * V;
      lse[r] = logarithm;
      delta[r] = dot_of(dcontext(sequence, n, first + r), context, V);
      if (logarithm == -kInfinity) {  // the query sees no key: probabilities are 0, or equal on the fused path
        lse[r] = kInfinity;
        if (heads_.op.path == graph::AttentionPath::fused) average(sequence, n, first + r);
      }
    }
    const View query{heads_.query(sequence, n, first), heads_.query_stride(), 1};
    const View out{dcontext(sequence, n, first), heads_.N * V, 1};
    for (std::int64_t h = 0; h < H; h += kPanel)
      pack_panel({query.data + h, query.row, 1}, rows, std::min(kPanel, H - h), scratch.queries + h * rows);
    for (std::int64_t v = 0; v < V; v += kPanel)
      pack_panel({out.data + v, out.row, 1}, rows, std::min(kPanel, V - v), scratch.outs + v * rows);

    const std::int64_t last = heads_.op.causal ? std::min(heads_.S, first + rows) : heads_.S;
    for (std::int64_t s = 0; s < last; s += layout_.tile) {
      const std::int64_t keys = std::min(layout_.tile, last - s);
      const Block block{first, rows, s, keys, keys == last};
      find_slopes(sequence, n, block, query, out, lse, delta, scratch);
      add_products(sequence, n, block, scratch);
    }
  }

  /// Computes the probabilities, and the gradients of the unscaled scores.
  void find_slopes(const Sequence& sequence, std::int64_t n, const Block& block, const View& query, const View& out,
                   const float* lse, const float* delta, const Scratch& scratch) const {
    const std::int64_t tile = layout_.tile;
    for (std::int64_t i = 0; i < block.keys; i += kPanel) {
      PanelSums sums{.x = query,
                     .panel = scratch.keys + (block.s + i) * heads_.H,
                     .rows = block.rows,
                     .depth = heads_.H,
                     .y = scratch.scores + i,
                     .stride = tile,
                     .columns = whole_vectors(block.keys - i)};
      multiply_panel(sums);
      sums.x = out;
      sums.panel = scratch.values + (block.s + i) * heads_.V;
      sums.depth = heads_.V;
      sums.y = scratch.dscores + i;
      multiply_panel(sums);
    }
    const bool masked = heads_.is_masked();
    if (masked) {
      heads_.find_seen(sequence, n, block.first, block.rows, block.s, block.s + block.keys, scratch.seen, tile);
    }
    for (std::int64_t r = 0; r < block.rows; ++r) {
      float* const scores = scratch.scores + r * tile;
      float* const dscores = scratch.dscores + r * tile;
      const std::uint8_t* const seen = scratch.seen + r * tile;
      if (masked) {
        hide(scores, seen, -kInfinity, block.keys);
        clear_hidden(dscores, seen, block.keys);
      }
      slope_of_row(scores, dscores, lse[r], delta[r], block.whole, heads_.scale, block.keys);
      if (masked) clear_hidden(dscores, seen, block.keys);
    }
  }

  /// dquery += dscores·key, dkey += dscoresᵀ·query, dvalue += probabilitiesᵀ·dcontext
  void add_products(const Sequence& sequence, std::int64_t n, const Block& block, const Scratch& scratch) const {
    const std::int64_t H = heads_.H, V = heads_.V, S = heads_.S, K = heads_.K, k = n / (heads_.N / K);
    const std::int64_t stride = transposed_stride(S);
    float* const dquery = dq_.data<float>() + ((sequence.b * heads_.T + block.first) * heads_.N + n) * H;
    multiply_panels({.x = {scratch.dscores, layout_.tile, 1},
                     .panel = scratch.features + block.s * kPanel,
                     .rows = block.rows,
                     .depth = block.keys,
                     .y = dquery,
                     .stride = heads_.N * H,
                     .adds = block.s > 0},
                    S, H);
    turn(scratch.dscores, layout_.tile, block.rows, block.keys, scratch.transposed, stride);
    multiply_panels({.x = {scratch.transposed, stride, 1},
                     .panel = scratch.queries,
                     .rows = block.keys,
                     .depth = block.rows,
                     .y = dk(sequence, k, block.s),
                     .stride = K * H,
                     .adds = true},
                    block.rows, H);
    turn(scratch.scores, layout_.tile, block.rows, block.keys, scratch.transposed, stride);
    multiply_panels({.x = {scratch.transposed, stride, 1},
                     .panel = scratch.outs,
                     .rows = block.keys,
                     .depth = block.rows,
                     .y = dv(sequence, k, block.s),
                     .stride = K * V,
                     .adds = true},
                    block.rows, V);
  }

  /// Adds the gradient of the values for a query that sees no key: its context is the mean of all values.
  void average(const Sequence& sequence, std::int64_t n, std::int64_t t) const {
    const std::int64_t k = n / (heads_.N / heads_.K);
    const float share = 1.0F / static_cast<float>(heads_.S);
    for (std::int64_t s = 0; s < heads_.S; ++s)
      add_scaled(dv(sequence, k, s), share, dcontext(sequence, n, t), heads_.V);
  }

  Engine& engine_;
  AttentionHeads heads_;
  Operand dq_, dk_, dv_, context_, lse_, dcontext_;
  ScratchLayout layout_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const graph::Attention& forward = step.op<graph::AttentionGrad>().forward;
  if (forward.bias || forward.soft_cap > 0.0) return "it has a bias or a soft cap";
  if (forward.scores) return "its scores have a gradient";
  return forward.scale > 0 ? "" : "its scale is not above 0";
}

MemoryNeeds needs_of(const StepInfo& step) {
  const ScratchLayout layout(step.inputs[1].shape[1], step.inputs[0].shape[3], step.inputs[2].shape[3]);
  return scratch_of_threads(step, layout.bytes());
}

}  // namespace

Kernels kernels_of(const graph::AttentionGrad&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, needs_of, make_as<AttentionGradKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
