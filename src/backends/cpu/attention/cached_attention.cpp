// Attention to KV caches. The query heads that share a key head process its rows together, a block of queries at a
// time. With few queries, the rows of the cache are split among threads. The partial results are combined by their
// maxima and sums (Milakov and Gimelshein, 2018; Dao et al., Flash-Decoding, 2023).
//
// B batch, T queries, N query heads, K key/value heads, C entries and S rows of the caches, H head size, V value head
// size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "attention_heads.h"
#include "attn/base/error.h"
#include "attn/plan/bytes.h"
#include "online_softmax.h"
#include "operations/convert.h"
#include "operations/loops.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kRows = 128;     // cache rows per block of scores
constexpr std::int64_t kQueries = 128;  // queries per block, over all heads of a key head; at least one position
constexpr std::int64_t kPacked = 8;     // with more queries per block, cache rows are packed for products

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// scores (queries, kRows) = x (queries, size) · keys (rows, size)ᵀ
ATTN_VECTORIZED(void, dot_rows, const float* x, std::int64_t queries, const float* keys, std::int64_t rows,
                std::int64_t size, float* scores) {
  for (std::int64_t s = 0; s < rows; ++s) {
    const float* const key = keys + s * size;
    for (std::int64_t g = 0; g < queries; ++g) {
      const float* const query = x + g * size;
      Lanes sum{}, a, b;
      std::int64_t h = 0;
      for (; h + kLanes <= size; h += kLanes) {
        load(query + h, a);
        load(key + h, b);
        sum += a * b;
      }
      if (h < size) {
        load_some(query + h, size - h, a);
        load_some(key + h, size - h, b);
        sum += a * b;
      }
      scores[g * kRows + s] = sum_of_lanes(sum);
    }
  }
}

/// context (queries, stride) += weights (queries, kRows) · values (rows, size)
ATTN_VECTORIZED(void, add_weighted, const float* weights, std::int64_t queries, const float* values, std::int64_t rows,
                std::int64_t size, float* context, std::int64_t stride) {
  constexpr std::int64_t kTogether = 4;
  for (std::int64_t g = 0; g < queries; ++g) {
    float* const to = context + g * stride;
    const float* const weight = weights + g * kRows;
    std::int64_t v = 0;
    for (; v + kTogether * kLanes <= size; v += kTogether * kLanes) {
      Lanes sums[kTogether], value;
      for (std::int64_t i = 0; i < kTogether; ++i) load(to + v + i * kLanes, sums[i]);
      for (std::int64_t s = 0; s < rows; ++s) {
        for (std::int64_t i = 0; i < kTogether; ++i) {
          load(values + s * size + v + i * kLanes, value);
          sums[i] += weight[s] * value;
        }
      }
      for (std::int64_t i = 0; i < kTogether; ++i) store(sums[i], to + v + i * kLanes);
    }
    for (; v < size; v += kLanes) {
      Lanes sum, value;
      load_some(to + v, size - v, sum);
      for (std::int64_t s = 0; s < rows; ++s) {
        load_some(values + s * size + v, size - v, value);
        sum += weight[s] * value;
      }
      store_some(sum, size - v, to + v);
    }
  }
}

/// The partition of a step's work, and its sizes.
struct Partition {
  explicit Partition(const StepInfo& step)
      : B(step.inputs[0].shape[0]),
        T(step.inputs[0].shape[1]),
        N(step.inputs[0].shape[2]),
        H(step.inputs[0].shape[3]),
        C(step.inputs[1].shape[0]),
        K(step.inputs[1].shape[1]),
        S(step.inputs[1].shape[2]),
        V(step.inputs[2].shape[3]) {
    heads = K > 0 ? N / K : 0;
    positions = std::clamp<std::int64_t>(kQueries / std::max<std::int64_t>(heads, 1), 1, std::max<std::int64_t>(T, 1));
    blocks = (T + positions - 1) / positions;
    const std::int64_t items = std::max<std::int64_t>(B * K * blocks, 1),
                       wanted = std::int64_t{2} * step.machine.threads;
    const std::int64_t most = std::max<std::int64_t>(S / kRows, 1);
    parts = step.machine.threads == 1 ? 1 : std::clamp<std::int64_t>((wanted + items - 1) / items, 1, most);
    const std::int64_t group = heads * positions;
    width = padded(V);
    part_floats = group * width + 3 * kept_rows(group);
    const std::int64_t seen_floats = group * kRows / static_cast<std::int64_t>(sizeof(float));
    const std::int64_t panel_floats = kPanel * std::max(H, kRows);
    thread_floats = group * (H + kRows) + kRows * std::max(H, V) + panel_floats + seen_floats;
    thread_floats = (thread_floats + kLanes - 1) / kLanes * kLanes;
    part_floats = (part_floats + kLanes - 1) / kLanes * kLanes;
  }

  std::int64_t B, T, N, H, C, K, S, V;
  std::int64_t heads;      ///< query heads per key head
  std::int64_t positions;  ///< positions in a block of queries; a block has `heads` queries for each
  std::int64_t blocks;     ///< number of blocks of queries
  std::int64_t parts;      ///< parts into which the cache rows of a block are split
  std::int64_t width;      ///< row stride of a part's context
  std::int64_t part_floats, thread_floats;

  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t threads) const {
    constexpr std::int64_t kFloat = sizeof(float);
    return plan::sum_of_bytes(
        {bytes_times({B, K, blocks, parts, part_floats, kFloat}), bytes_times({threads, thread_floats, kFloat})});
  }
};

class CachedAttention final : public Kernel {
 public:
  explicit CachedAttention(const Step& step)
      : engine_(step.engine),
        op_(step.op<graph::CachedAttention>()),
        cut_(step),
        inputs_(step.inputs),
        context_(step.outputs[0]) {
    engine_.scratch.reserve(cut_.scratch_bytes(step.machine.threads));
    hidden_ = hidden_score(op_.path, step.graph.value(step.node.inputs[0]).dtype);
    const Shape all{cut_.B, cut_.N, cut_.T, cut_.S};
    std::size_t input = op_.sources ? 5 : 4;
    if (op_.bias) bias_.emplace(inputs_[input++], all);
    for (int i = 0; i < op_.masks; ++i) masks_.emplace_back(inputs_[input++], all);
  }

  void run() override {
    const std::int64_t length = *inputs_[3].data<std::int32_t>();
    if (length < (op_.causal ? cut_.T : 0) || length > cut_.S)
      throw bad_input("{} rows of a cache of {} cannot serve {} queries", length, cut_.S, cut_.T);
    if (op_.sources) check_sources(length);
    const Team team = engine_.team_for(work(length));
    auto* const shared = reinterpret_cast<float*>(engine_.scratch.get());
    float* const own = shared + cut_.B * cut_.K * cut_.blocks * cut_.parts * cut_.part_floats;
    parallel_for(cut_.B * cut_.K * cut_.blocks * cut_.parts, team, [&](std::int64_t item, int thread) {
      const Block block = block_of(item / cut_.parts, length);
      const std::int64_t part = item % cut_.parts, rows = block.end - block.begin;
      const std::int64_t pieces = (rows + kRows - 1) / kRows;
      const auto row = [&](std::int64_t i) { return block.begin + std::min(rows, pieces * i / cut_.parts * kRows); };
      attend(block, row(part), row(part + 1), part_at(shared + item * cut_.part_floats, block),
             own + thread * cut_.thread_floats);
      if (cut_.parts == 1) combine(block, shared + item * cut_.part_floats);
    });
    if (cut_.parts == 1) return;
    parallel_for(cut_.B * cut_.K * cut_.blocks, team, [&](std::int64_t item, int) {
      combine(block_of(item, length), shared + item * cut_.parts * cut_.part_floats);
    });
  }

  [[nodiscard]] std::string_view name() const override { return "cached attention"; }

 private:
  /// The queries [first, last) of the heads of key head k, and the range [begin, end) of rows that any of these queries
  /// sees.
  struct Block {
    std::int64_t b, k, first, last, length, begin, end;
  };
  /// The contribution of some cache rows to the context of a block: a sum of weighted values, not yet divided by the
  /// sum of the weights.
  struct Part {
    float* context;  // (queries, width)
    RunningRows running;
  };
  /// Query g of a block.
  struct Query {
    std::int64_t n, t;
  };

  /// Returns the floating-point operations of the products over `length` cache rows, or the bytes if few queries make
  /// the bandwidth the limit.
  [[nodiscard]] double work(std::int64_t length) const {
    constexpr std::int64_t kFew = 8;
    const std::int64_t queries = std::max(cut_.heads * cut_.T, kFew);
    const std::int64_t rows = std::min(length, op_.window.value_or(length));
    return 2.0 * static_cast<double>(cut_.B * cut_.K * queries) * static_cast<double>(rows * (cut_.H + cut_.V));
  }

  [[nodiscard]] Block block_of(std::int64_t item, std::int64_t length) const {
    Block block{item / cut_.blocks / cut_.K,
                item / cut_.blocks % cut_.K,
                item % cut_.blocks * cut_.positions,
                0,
                length,
                0,
                length};
    block.last = std::min(cut_.T, block.first + cut_.positions);
    // Without masks, a causal query sees at least its own row, so rows that are hidden from all queries can be skipped.
    // With masks a query may see no row; then all rows have equal weights.
    if (op_.causal && masks_.empty()) {
      block.end = length - cut_.T + block.last;
      if (op_.window) block.begin = std::max<std::int64_t>(0, length - cut_.T + block.first - (*op_.window - 1));
    }
    return block;
  }
  [[nodiscard]] std::int64_t queries(const Block& block) const { return cut_.heads * (block.last - block.first); }
  [[nodiscard]] Query query_of(const Block& block, std::int64_t g) const {
    const std::int64_t positions = block.last - block.first;
    return {block.k * cut_.heads + g / positions, block.first + g % positions};
  }
  [[nodiscard]] Part part_at(float* from, const Block& block) const {
    const std::int64_t kept = kept_rows(queries(block));
    float* const maxima = from + queries(block) * cut_.width;
    return {from, {maxima, maxima + kept, maxima + 2 * kept}};
  }

  void check_sources(std::int64_t length) const {
    const auto* const sources = inputs_[4].data<std::int32_t>();
    for (std::int64_t b = 0; b < cut_.B; ++b) {
      for (std::int64_t s = 0; s < length; ++s) {
        const std::int64_t entry = sources[b * cut_.S + s];
        if (entry < 0 || entry >= cut_.C)
          throw bad_input("row {} of entry {} is in entry {}, and the cache has {}", s, b, entry, cut_.C);
      }
    }
  }

  /// Returns `count` numbers of an operand as floats: a pointer to them if they are float32, otherwise a copy in
  /// `copy`.
  static const float* floats(const Operand& operand, std::int64_t first, std::int64_t count, float* copy) {
    if (operand.dtype == DType::float32) return operand.data<float>() + first;
    widen(operand.dtype, operand.data<std::uint16_t>() + first, copy, count);
    return copy;
  }

  /// Returns rows [begin, end) of a cache as floats.
  const float* rows_of(const Operand& cache, const Block& block, std::int64_t begin, std::int64_t end,
                       float* copy) const {
    const std::int64_t size = cache.shape[3];
    const auto row = [&](std::int64_t entry, std::int64_t s) {
      return ((entry * cut_.K + block.k) * cut_.S + s) * size;
    };
    if (!op_.sources) return floats(cache, row(block.b * (cut_.C / cut_.B), begin), (end - begin) * size, copy);
    const auto* const sources = inputs_[4].data<std::int32_t>() + block.b * cut_.S;
    for (std::int64_t s = begin; s < end;) {
      std::int64_t next = s + 1;  // consecutive rows of one entry are contiguous
      while (next < end && sources[next] == sources[s]) ++next;
      float* const to = copy + (s - begin) * size;
      const float* const from = floats(cache, row(sources[s], s), (next - s) * size, to);
      if (from != to) std::copy_n(from, (next - s) * size, to);
      s = next;
    }
    return copy;
  }

  void find_seen(const Block& block, Query query, std::int64_t begin, std::int64_t end, std::uint8_t* seen) const {
    const std::int64_t place = block.length - cut_.T + query.t;
    for (std::int64_t s = begin; s < end; ++s) {
      bool is_seen = (!op_.causal || s <= place) && (!op_.window || std::abs(place - s) < *op_.window);
      for (const BroadcastToScores& mask : masks_)
        is_seen = is_seen && mask.row<std::uint8_t>(block.b, query.n, query.t)[s * mask.strides[3]] != 0;
      seen[s - begin] = is_seen ? 1 : 0;
    }
  }

  /// Returns whether a row before `end` may be hidden from a query of the block.
  [[nodiscard]] bool may_hide(const Block& block, std::int64_t end) const {
    return !masks_.empty() || op_.window || (op_.causal && end - 1 > block.length - cut_.T + block.first);
  }

  void add_bias(const Block& block, Query query, std::int64_t begin, std::int64_t rows, float* scores) const {
    const Operand& bias = bias_->operand;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t at = (begin + i) * bias_->strides[3];
      float number = 0.0F;
      scores[i] +=
          bias.dtype == DType::float32
              ? bias_->row<float>(block.b, query.n, query.t)[at]
              : (widen(bias.dtype, bias_->row<std::uint16_t>(block.b, query.n, query.t) + at, &number, 1), number);
    }
  }

  /// Computes the contribution of rows [begin, end) to the queries of a block. `own` is the thread's scratch memory.
  void attend(const Block& block, std::int64_t begin, std::int64_t end, const Part& part, float* own) const {
    const std::int64_t count = queries(block), most = cut_.heads * cut_.positions;
    float* const x = own;
    float* const scores = x + most * cut_.H;
    float* const copy = scores + most * kRows;
    float* const panel = copy + kRows * std::max(cut_.H, cut_.V);
    auto* const seen = reinterpret_cast<std::uint8_t*>(panel + kPanel * std::max(cut_.H, kRows));
    std::fill_n(part.context, count * cut_.width, 0.0F);
    begin_rows(part.running, count);
    for (std::int64_t g = 0; g < count; ++g) {
      const Query query = query_of(block, g);
      const std::int64_t first = ((block.b * cut_.T + query.t) * cut_.N + query.n) * cut_.H;
      const float* const from = floats(inputs_[0], first, cut_.H, x + g * cut_.H);
      if (from != x + g * cut_.H) std::copy_n(from, cut_.H, x + g * cut_.H);
    }
    for (std::int64_t s = begin; s < end; s += kRows) {
      const std::int64_t last = std::min(end, s + kRows), rows = last - s;
      score(x, count, rows_of(inputs_[1], block, s, last, copy), rows, panel, scores);
      const bool masked = may_hide(block, last);
      for (std::int64_t g = 0; g < count; ++g) {
        const Query query = query_of(block, g);
        float* const row = scores + g * kRows;
        cap_row(row, static_cast<float>(op_.scale), static_cast<float>(op_.soft_cap), rows);
        if (bias_) add_bias(block, query, s, rows, row);
        if (!masked) continue;
        find_seen(block, query, s, last, seen + g * kRows);
        hide(row, seen + g * kRows, hidden_, rows);
      }
      soften(scores, kRows, count, rows, kLog2E, part.running);
      for (std::int64_t g = 0; masked && op_.path == graph::AttentionPath::explicit_ && g < count; ++g)
        clear_hidden(scores + g * kRows, seen + g * kRows, rows);
      for (std::int64_t g = 0; s > begin && g < count; ++g) {
        float* const context = part.context + g * cut_.width;
        const float shrink = part.running.shrinks[g];
        if (shrink != 1.0F) scale_row(context, shrink, context, cut_.width);
      }
      add_values(scores, count, rows_of(inputs_[2], block, s, last, copy), rows, panel, part.context);
    }
  }

  void score(const float* x, std::int64_t count, const float* keys, std::int64_t rows, float* panel,
             float* scores) const {
    if (count < kPacked) return dot_rows(x, count, keys, rows, cut_.H, scores);
    for (std::int64_t i = 0; i < rows; i += kPanel) {
      pack_panel({keys + i * cut_.H, 1, cut_.H}, cut_.H, std::min(kPanel, rows - i), panel);
      multiply_panel({.x = {x, cut_.H, 1},
                      .panel = panel,
                      .rows = count,
                      .depth = cut_.H,
                      .y = scores + i,
                      .stride = kRows,
                      .columns = whole_vectors(rows - i)});
    }
  }

  void add_values(const float* weights, std::int64_t count, const float* values, std::int64_t rows, float* panel,
                  float* context) const {
    if (count < kPacked) return add_weighted(weights, count, values, rows, cut_.V, context, cut_.width);
    for (std::int64_t v = 0; v < cut_.V; v += kPanel) {
      pack_panel({values + v, cut_.V, 1}, rows, std::min(kPanel, cut_.V - v), panel);
      multiply_panel({.x = {weights, kRows, 1},
                      .panel = panel,
                      .rows = count,
                      .depth = rows,
                      .y = context + v,
                      .stride = cut_.width,
                      .columns = whole_vectors(cut_.V - v),
                      .adds = true});
    }
  }

  /// Combines the parts of a block; the first part receives the result.
  void combine(const Block& block, float* parts) const {
    const std::int64_t count = queries(block);
    const auto part = [&](std::int64_t i) { return part_at(parts + i * cut_.part_floats, block); };
    for (std::int64_t g = 0; g < count; ++g) {
      float most = -std::numeric_limits<float>::infinity(), whole = 0.0F;
      for (std::int64_t i = 0; i < cut_.parts; ++i) most = std::max(most, part(i).running.maxima[g]);
      const auto weight = [&](std::int64_t i) {
        const float maximum = part(i).running.maxima[g];
        return part(i).running.sums[g] == 0.0F ? 0.0F : maximum == most ? 1.0F : std::exp(maximum - most);
      };
      for (std::int64_t i = 0; i < cut_.parts; ++i) whole += weight(i) * part(i).running.sums[g];
      float* const sum = part(0).context + g * cut_.width;
      scale_row(sum, whole > 0.0F || whole != whole ? weight(0) / whole : 0.0F, sum, cut_.V);
      for (std::int64_t i = 1; i < cut_.parts; ++i) {
        if (weight(i) == 0.0F) continue;
        float* const other = part(i).context + g * cut_.width;
        scale_row(other, weight(i) / whole, other, cut_.V);
        add_to(sum, other, cut_.V);
      }
      const Query query = query_of(block, g);
      const std::int64_t to = ((block.b * cut_.T + query.t) * cut_.N + query.n) * cut_.V;
      if (context_.dtype == DType::float32) {
        std::copy_n(sum, cut_.V, context_.data<float>() + to);
      } else {
        narrow(context_.dtype, sum, context_.data<std::uint16_t>() + to, cut_.V);
      }
    }
  }

  Engine& engine_;
  graph::CachedAttention op_;
  Partition cut_;
  std::vector<Operand> inputs_;
  Operand context_;
  std::optional<BroadcastToScores> bias_;
  std::vector<BroadcastToScores> masks_;
  float hidden_ = 0.0F;
};

std::string why_not_cached(const StepInfo& step) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    const DType dtype = step.inputs[input].dtype;
    if (dtype != DType::float32 && !is_half(dtype)) return fmt::format("no kernel here for {}", name_of(dtype));
  }
  return step.inputs[1].size() > 0 ? "" : "its cache has no elements";
}

MemoryNeeds needs_of(const StepInfo& step) {
  MemoryNeeds needs;
  needs.scratch = Partition(step).scratch_bytes(step.machine.threads);
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::CachedAttention&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not_cached, needs_of, make_as<CachedAttention>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
