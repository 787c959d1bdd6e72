// Attention: for a block of query rows of one head, all scores into scratch, a softmax of each row, then the context.
// No (B,N,T,S) array is made unless the scores are asked for.
//
// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "attn/base/size.h"
#include "kernel.h"
#include "panels.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::onednn {
namespace {

/// x = scale·x, with `hidden` where `seen` is 0.
ATTN_VECTORIZED void mask_row(float* x, const std::uint8_t* seen, float scale, float hidden, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = seen[i] != 0 ? scale * x[i] : hidden;
}

ATTN_VECTORIZED void scale_row(float* x, float scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] *= scale;
}

/// x = exp(x − max x); gives Σ x. All NaN where one x is NaN, +∞, or all are −∞.
ATTN_VECTORIZED float exponentiate_row(float* x, std::int64_t size) {
  const float maximum = max_of(x, size);
  for (std::int64_t i = 0; i < size; ++i) x[i] = exp_below_0(x[i] - maximum);
  return sum_of(x, size);
}

ATTN_VECTORIZED void clear_hidden(float* x, const std::uint8_t* seen, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = seen[i] != 0 ? x[i] : 0.0F;
}

ATTN_VECTORIZED void and_row(std::uint8_t* seen, const std::uint8_t* mask, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) seen[i] = seen[i] != 0 && mask[i] != 0 ? 1 : 0;
}

// A block's scores should stay in the second-level cache.
constexpr std::int64_t kScores = 131'072, kLeastRows = 6, kMostRows = 96;

std::int64_t padded(std::int64_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

/// Of a block.
std::int64_t rows_for(std::int64_t keys) {
  return std::clamp<std::int64_t>(kScores / std::max(padded(keys), kPanel), kLeastRows, kMostRows);
}

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const graph::Attention& op, const Step& step)
      : engine_(step.engine),
        op_(op),
        query_(step.inputs[0]),
        key_(step.inputs[1]),
        value_(step.inputs[2]),
        context_(step.outputs[0]),
        scores_(step.outputs.back()) {
    B_ = query_.shape[0];
    T_ = query_.shape[1];
    N_ = query_.shape[2];
    H_ = query_.shape[3];
    S_ = key_.shape[1];
    K_ = key_.shape[2];
    V_ = value_.shape[3];
    if (op.varlen > 0) {
      starts_ = step.inputs[3];
      B_ = starts_.shape[0] - 1;
      T_ = S_ = op.varlen;
    }
    const Shape all{B_, N_, T_, S_};
    for (int i = 0; i < op.masks; ++i) masks_.emplace_back(step.inputs[3 + static_cast<std::size_t>(i)], all);
    // Keras's constants: ops.dot_product_attention, layers.Softmax. The model's dtype decides, not the one in which we
    // work.
    const bool is_float16 = step.graph.value(step.node.inputs[0]).dtype == DType::float16;
    hidden_ = op.path == graph::AttentionPath::fused ? -0.7F * std::numeric_limits<float>::max()
              : is_float16                           ? -3e4F
                                                     : -1e9F;

    padded_ = padded(S_);
    padded_v_ = padded(V_);
    rows_ = rows_for(S_);
    const double work =
        2.0 * static_cast<double>(B_ * N_ * T_) * static_cast<double>(S_) * static_cast<double>(H_ + V_);
    team_ = step.engine.team_for(work);
    // A head is one piece of work, unless there are too few heads for the threads: each piece packs for itself.
    constexpr std::int64_t kPiecesPerThread = 4;
    const std::int64_t wanted = team_.threads == 1 ? 1 : (kPiecesPerThread * team_.threads + B_ * N_ - 1) / (B_ * N_);
    pieces_ = std::clamp<std::int64_t>(wanted, 1, (T_ + rows_ - 1) / rows_);
    scratch_bytes_ = attention_scratch(S_, H_, V_);
    engine_.scratch.reserve(team_.threads * scratch_bytes_);
  }

  void run() override {
    parallel_for(B_ * N_ * pieces_, team_, [&](std::int64_t item, int thread) {
      const Scratch scratch = scratch_of(thread);
      const std::int64_t head = item / pieces_, piece = item % pieces_;
      const Sequence sequence = sequence_of(head / N_);
      const std::int64_t n = head % N_;
      pack(sequence, n / (N_ / K_), scratch);
      const std::int64_t end = sequence.T * (piece + 1) / pieces_;
      for (std::int64_t t = sequence.T * piece / pieces_; t < end; t += rows_)
        attend(sequence, n, t, std::min(rows_, end - t), scratch);
    });
  }

  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  struct Scratch {
    float* scores;       // (rows, padded S)
    float* keys;         // padded S / kPanel panels (H, kPanel)
    float* values;       // padded V / kPanel panels (S, kPanel)
    float* inverses;     // 1/Σ per row
    std::uint8_t* seen;  // (S)
  };

  [[nodiscard]] Scratch scratch_of(int thread) const {
    auto* const scores = reinterpret_cast<float*>(engine_.scratch.get() + thread * scratch_bytes_);
    float* const keys = scores + rows_ * padded_;
    float* const values = keys + H_ * padded_;
    float* const inverses = values + S_ * padded_v_;
    return {scores, keys, values, inverses, reinterpret_cast<std::uint8_t*>(inverses + rows_)};
  }

  /// A bool array that broadcasts to (B,N,T,S).
  struct Mask {
    Mask(const Operand& mask, const Shape& all) : operand(mask) {
      std::int64_t stride = 1;
      for (int axis = mask.shape.rank() - 1; axis >= 0; --axis) {
        if (mask.shape[axis] != 1) strides[axis + all.rank() - mask.shape.rank()] = stride;
        stride *= mask.shape[axis];
      }
    }
    Operand operand;
    std::int64_t strides[4] = {0, 0, 0, 0};
  };

  /// A batch entry, or one of the sequences that share one.
  struct Sequence {
    std::int64_t b, T, S;
    std::int64_t first_query, first_key;  // rows of query and context, rows of key and value
  };

  [[nodiscard]] Sequence sequence_of(std::int64_t b) const {
    if (op_.varlen == 0) return {b, T_, S_, b * T_, b * S_};
    const auto* const starts = starts_.data<std::int32_t>();
    const std::int64_t length = starts[b + 1] - starts[b];
    return {b, length, length, starts[b], starts[b]};
  }

  [[nodiscard]] bool is_masked() const { return op_.causal || op_.window || !masks_.empty(); }

  void pack(const Sequence& sequence, std::int64_t k, const Scratch& scratch) const {
    const std::int64_t S = sequence.S;
    const float* const key = key_.data<float>() + (sequence.first_key * K_ + k) * H_;
    const float* const value = value_.data<float>() + (sequence.first_key * K_ + k) * V_;
    for (std::int64_t s = 0; s < S; s += kPanel) {
      pack_panel({key + s * K_ * H_, 1, K_ * H_}, H_, std::min(kPanel, S - s), scratch.keys + s * H_);
    }
    for (std::int64_t v = 0; v < V_; v += kPanel) {
      pack_panel({value + v, K_ * V_, 1}, S, std::min(kPanel, V_ - v), scratch.values + v * S);
    }
  }

  /// The context of queries [first, first + rows) of head n.
  void attend(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows,
              const Scratch& scratch) const {
    const std::int64_t S = sequence.S;
    const float* const query = query_.data<float>() + ((sequence.first_query + first) * N_ + n) * H_;
    for (std::int64_t s = 0; s < S; s += kPanel) {
      multiply_panel({query, N_ * H_, 1}, scratch.keys + s * H_, nullptr, nullptr, rows, H_, scratch.scores + s,
                     padded_);
    }

    for (std::int64_t r = 0; r < rows; ++r) {
      float* const row = scratch.scores + r * padded_;
      const bool masked = is_masked();
      if (masked) {
        find_seen(sequence, n, first + r, scratch.seen);
        mask_row(row, scratch.seen, static_cast<float>(op_.scale), hidden_, S);
      } else {
        scale_row(row, static_cast<float>(op_.scale), S);
      }
      // The sum divides the context, which is shorter than a row, except where the probabilities themselves are asked
      // for.
      float inverse = 1.0F / exponentiate_row(row, S);
      if (op_.scores) scale_row(row, std::exchange(inverse, 1.0F), S);
      if (masked && op_.path == graph::AttentionPath::explicit_) clear_hidden(row, scratch.seen, S);
      if (op_.scores) std::copy_n(row, S, scores_.data<float>() + ((sequence.b * N_ + n) * T_ + first + r) * S);
      scratch.inverses[r] = inverse;
    }

    for (std::int64_t v = 0; v < V_; v += kPanel) {
      const std::int64_t width = std::min(kPanel, V_ - v);
      float* const context = context_.data<float>() + ((sequence.first_query + first) * N_ + n) * V_ + v;
      multiply_part({scratch.scores, padded_, 1}, scratch.values + v * S, nullptr, rows, S, width, context, N_ * V_);
      for (std::int64_t r = 0; r < rows; ++r) {
        scale_row(context + r * N_ * V_, scratch.inverses[r], width);
      }
    }
  }

  /// seen[s]: may query t of head n attend to key s?
  void find_seen(const Sequence& sequence, std::int64_t n, std::int64_t t, std::uint8_t* seen) const {
    const std::int64_t S = sequence.S;
    std::int64_t begin = 0, end = S;
    if (op_.causal) end = std::min(end, t + 1);
    if (op_.window) {
      begin = std::max(begin, std::min(S, t - std::min(*op_.window, t + 1) + 1));
      end = *op_.window > S ? end : std::min(end, t + *op_.window);
    }
    std::fill_n(seen, S, std::uint8_t{0});
    if (begin < end) std::fill(seen + begin, seen + end, std::uint8_t{1});
    for (const Mask& mask : masks_) {
      const auto* const row =
          mask.operand.data<std::uint8_t>() + sequence.b * mask.strides[0] + n * mask.strides[1] + t * mask.strides[2];
      if (mask.strides[3] == 1) {
        and_row(seen, row, S);
      } else if (*row == 0) {
        std::fill_n(seen, S, std::uint8_t{0});
      }
    }
  }

  Engine& engine_;
  graph::Attention op_;
  Operand query_, key_, value_, context_, scores_;
  Operand starts_{};  // of the sequences that share a batch entry
  std::vector<Mask> masks_;
  std::int64_t B_, T_, N_, H_, S_, K_, V_;  // of the longest sequence
  std::int64_t padded_ = 0, padded_v_ = 0, rows_ = 0, pieces_ = 0, scratch_bytes_ = 0;
  float hidden_;
  Team team_;
};

}  // namespace

std::int64_t attention_scratch(std::int64_t keys, std::int64_t head_size, std::int64_t value_size) {
  using Wide = UInt128;
  const Wide rows = static_cast<Wide>(rows_for(keys)), across = static_cast<Wide>(padded(keys));
  const Wide floats = (rows + static_cast<Wide>(head_size)) * across +
                      static_cast<Wide>(keys) * static_cast<Wide>(padded(value_size)) + rows;
  const Wide bytes = floats * sizeof(float) + static_cast<Wide>(keys);
  const Wide lines = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<std::int64_t>(std::min<Wide>(lines, static_cast<Wide>(kMaxSize)));
}

Choice make(const graph::Attention& op, const Step& step) {
  if (op.packed_heads > 0) return "query, key and value in one array";
  return std::make_unique<AttentionKernel>(op, step);
}

}  // namespace attn::backends::onednn
