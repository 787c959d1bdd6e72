// The inputs and outputs of attention, head by head.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gemm/panels.h"
#include "kernel.h"
#include "parallel.h"

namespace attn::backends::cpu {

/// A bias or mask, broadcast to the shape (B,N,T,S) of the scores.
struct BroadcastToScores {
  BroadcastToScores(const Operand& array, const Shape& all);
  /// Returns the first number of row t of head n in batch entry b.
  template <typename Number>
  [[nodiscard]] const Number* row(std::int64_t b, std::int64_t n, std::int64_t t) const {
    return operand.data<Number>() + b * strides[0] + n * strides[1] + t * strides[2];
  }
  Operand operand;
  std::int64_t strides[4] = {0, 0, 0, 0};
};

/// Returns the value that replaces a hidden, scaled score in Keras (ops.dot_product_attention, layers.Softmax), in a
/// model that computes in `dtype`.
[[nodiscard]] float hidden_score(graph::AttentionPath path, DType dtype);

/// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size; T and S of the longest
/// sequence.
class AttentionHeads {
 public:
  explicit AttentionHeads(const Step& step) : AttentionHeads(step, step.op<graph::Attention>()) {}
  /// For a step that begins with the inputs of `attention`, and whose first output has the shape of the context or of
  /// the query.
  AttentionHeads(const Step& step, const graph::Attention& attention);

  /// A batch entry, or one of the concatenated sequences.
  struct Sequence {
    std::int64_t b, T, S;
    std::int64_t first_query, first_key;  // row offsets of its queries and context, and of its keys and values
  };
  [[nodiscard]] Sequence sequence_of(std::int64_t b) const;

  /// Returns the dtype of query, key, value, context and scores: float32, or bfloat16 for kernels that support it.
  [[nodiscard]] DType dtype() const { return query_.dtype; }

  /// Returns the query rows of head n, from row `first` on; rows are query_stride() apart.
  template <typename Number = float>
  [[nodiscard]] const Number* query(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return query_.data<Number>() + (sequence.first_query + first) * query_row_ + n * H;
  }
  [[nodiscard]] std::int64_t query_stride() const { return query_row_; }
  /// Returns the keys or values of head n.
  template <typename Number = float>
  [[nodiscard]] const Number* key(const Sequence& sequence, std::int64_t n) const {
    return key_.data<Number>() + first_key_ + sequence.first_key * key_row_ + n / (N / K) * H;
  }
  [[nodiscard]] std::int64_t key_stride() const { return key_row_; }
  template <typename Number = float>
  [[nodiscard]] const Number* value(const Sequence& sequence, std::int64_t n) const {
    return value_.data<Number>() + first_value_ + sequence.first_key * value_row_ + n / (N / K) * V;
  }
  [[nodiscard]] std::int64_t value_stride() const { return value_row_; }
  template <typename Number = float>
  [[nodiscard]] Number* context(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return context_.data<Number>() + ((sequence.first_query + first) * N + n) * V;
  }
  [[nodiscard]] std::int64_t context_stride() const { return N * V; }
  /// Returns the scores of head n from query `first` on, in rows of S scores.
  template <typename Number = float>
  [[nodiscard]] Number* scores(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return scores_.data<Number>() + ((sequence.b * N + n) * T + first) * S;
  }

  /// Returns the log-sum-exp of head n from query `first` on; null if not requested.
  [[nodiscard]] float* lse(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return op.lse ? lse_.data<float>() + (sequence.b * N + n) * T + first : nullptr;
  }
  /// Writes ln Σ e^score of rows, from the running maxima and sums of factor·score. If the maximum is a hidden score,
  /// the result is −∞.
  void write_lse(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows, const float* maxima,
                 const float* sums, float factor, float hidden_maximum) const;

  /// Packs keys as panels (H, kPanel) of 32 keys, zero-padded, and values as panels (S, kPanel) of 32 features.
  void pack(const Sequence& sequence, std::int64_t n, float* keys, float* values) const;

  [[nodiscard]] bool is_masked() const { return op.causal || op.window || !masks_.empty(); }
  /// Returns whether scores are more than scaled dot products.
  [[nodiscard]] bool shapes_scores() const { return op.bias || op.soft_cap > 0.0; }
  /// Turns a row of dot products of query t of head n into cap(scale·product) + bias.
  void shape_scores(const Sequence& sequence, std::int64_t n, std::int64_t t, float* row) const;

  /// Computes seen[s - begin] for begin ≤ s < end ≤ S: whether query t of head n may attend to key s.
  void find_seen(const Sequence& sequence, std::int64_t n, std::int64_t t, std::int64_t begin, std::int64_t end,
                 std::uint8_t* seen) const;

  /// Computes seen[(t − first)·stride + s − begin] for `rows` queries from `first` on: whether query t of head n may
  /// attend to key s. Returns false if no query sees any of the keys [begin, end).
  bool find_seen(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows, std::int64_t begin,
                 std::int64_t end, std::uint8_t* seen, std::int64_t stride) const;
  /// Returns whether the weight of hidden keys is negligible in all rows, given each row's largest unscaled score.
  [[nodiscard]] bool hides_fully(const float* maxima, std::int64_t rows) const;

  /// Returns the threads worth waking.
  [[nodiscard]] Team team(Engine& engine) const;
  [[nodiscard]] std::int64_t pieces(const Team& team, std::int64_t rows) const;

  /// Calls f(sequence, n, begin, end, thread) for each work item: the queries [begin, end) of head n.
  template <typename Function>
  void for_each_piece(const Team& team, std::int64_t pieces, Function&& f) const {
    parallel_for(B * N * pieces, team, [&](std::int64_t item, int thread) {
      const std::int64_t head = item / pieces, piece = item % pieces;
      const Sequence sequence = sequence_of(head / N);
      f(sequence, head % N, sequence.T * piece / pieces, sequence.T * (piece + 1) / pieces, thread);
    });
  }

  graph::Attention op;
  std::int64_t B, T, N, H, S, K, V;
  float scale;
  float hidden;        ///< the value that replaces a hidden, scaled score in Keras
  float hidden_score;  ///< `hidden` divided by the scale (which is above 0), for scores that are not scaled yet

 private:
  Operand query_, key_, value_, context_, scores_, lse_;  // query, key and value may be slices of one packed array
  std::int64_t query_row_, key_row_, value_row_;          // strides between positions
  std::int64_t first_key_ = 0, first_value_ = 0;          // offsets of key and value
  Operand starts_{};                                      // first row of each concatenated sequence
  std::optional<BroadcastToScores> bias_;
  std::vector<BroadcastToScores> masks_;  // bool masks
};

/// Rounds `size` up to a multiple of kPanel.
[[nodiscard]] inline std::int64_t padded(std::int64_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

/// Returns how many columns of the next panel to compute if `left` columns remain: kPanel, or half of it if that is
/// enough.
[[nodiscard]] inline std::int64_t whole_vectors(std::int64_t left) { return left <= kPanel / 2 ? kPanel / 2 : kPanel; }

/// The sizes S, H and V of an attention operation, known before allocation.
struct AttentionSize {
  explicit AttentionSize(const StepInfo& step);
  std::int64_t keys, head_size, value_size;
};

/// Returns the bytes of float arrays with these (rows, columns), plus `bytes` bytes, in whole cache lines, at most
/// kMaxSize.
[[nodiscard]] std::int64_t scratch_size(std::initializer_list<std::pair<std::int64_t, std::int64_t>> arrays,
                                        std::int64_t bytes);
/// Returns the needs of a kernel with `bytes` of scratch memory for each thread.
[[nodiscard]] MemoryNeeds scratch_of_threads(const StepInfo& step, std::int64_t bytes);

/// Attention by products of bfloat16 tiles, for float32 or bfloat16. StepInfo::machine determines whether float32 may
/// use it.
[[nodiscard]] std::string why_not_on_tiles(const StepInfo& step);
[[nodiscard]] MemoryNeeds tile_attention_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_tile_attention(const Step& step);

/// Attention that computes scores for a block of queries and keys at a time (Dao et al., FlashAttention, 2022).
[[nodiscard]] std::string why_not_flash(const StepInfo& step);
[[nodiscard]] MemoryNeeds flash_attention_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_flash_attention(const Step& step);

}  // namespace attn::backends::cpu
