// What attention reads and writes, head by head.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernel.h"
#include "panels.h"
#include "parallel.h"

namespace attn::backends::cpu {

/// An array that broadcasts to (B,N,T,S).
struct OverScores {
  OverScores(const Operand& array, const Shape& all);
  /// The first number of a row of it.
  template <typename Number>
  [[nodiscard]] const Number* row(std::int64_t b, std::int64_t n, std::int64_t t) const {
    return operand.data<Number>() + b * strides[0] + n * strides[1] + t * strides[2];
  }
  Operand operand;
  std::int64_t strides[4] = {0, 0, 0, 0};
};

/// What Keras puts in the place of a scaled score that is hidden (ops.dot_product_attention, layers.Softmax), in a
/// model that computes in `dtype`.
[[nodiscard]] float hidden_score(graph::AttentionPath path, DType dtype);

/// B batch, T queries, S keys, N query heads, K key/value heads, H head size, V value head size; T and S of the longest
/// sequence.
class AttentionHeads {
 public:
  explicit AttentionHeads(const Step& step) : AttentionHeads(step, step.op<graph::Attention>()) {}
  /// Of a step whose first inputs are those of `attention`, and whose first output is as the context or query.
  AttentionHeads(const Step& step, const graph::Attention& attention);

  /// A batch entry, or one of the sequences that share one.
  struct Sequence {
    std::int64_t b, T, S;
    std::int64_t first_query, first_key;  // rows of query and context, rows of key and value
  };
  [[nodiscard]] Sequence sequence_of(std::int64_t b) const;

  /// What query, key, value, context and scores are: float32, or bfloat16 for who takes it.
  [[nodiscard]] DType dtype() const { return query_.dtype; }

  /// The numbers of query rows from `first` on, of head n; rows are query_stride() apart.
  template <typename Number = float>
  [[nodiscard]] const Number* query(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return query_.data<Number>() + (sequence.first_query + first) * query_row_ + n * H;
  }
  [[nodiscard]] std::int64_t query_stride() const { return query_row_; }
  /// Those of the keys and values that head n meets.
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
  /// (T,S) of head n.
  template <typename Number = float>
  [[nodiscard]] Number* scores(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return scores_.data<Number>() + ((sequence.b * N + n) * T + first) * S;
  }

  /// The logarithms of query rows from `first` on, of head n, where they are asked for.
  [[nodiscard]] float* lse(const Sequence& sequence, std::int64_t n, std::int64_t first) const {
    return op.lse ? lse_.data<float>() + (sequence.b * N + n) * T + first : nullptr;
  }
  /// ln Σ e^score of rows whose running maxima and sums are of factor·score; −∞ where the maximum is a hidden score.
  void write_lse(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows, const float* maxima,
                 const float* sums, float factor, float hidden_maximum) const;

  /// Keys as panels (H, kPanel) of 32 keys, 0 behind the last; values as panels (S, kPanel) of 32 features.
  void pack(const Sequence& sequence, std::int64_t n, float* keys, float* values) const;

  [[nodiscard]] bool is_masked() const { return op.causal || op.window || !masks_.empty(); }
  /// Are the scores more than scaled products?
  [[nodiscard]] bool shapes_scores() const { return op.bias || op.soft_cap > 0.0; }
  /// A row of products of query t of head n becomes cap(scale·product) + bias.
  void shape_scores(const Sequence& sequence, std::int64_t n, std::int64_t t, float* row) const;

  /// seen[s - begin]: may query t of head n attend to key s, for begin ≤ s < end ≤ S?
  void find_seen(const Sequence& sequence, std::int64_t n, std::int64_t t, std::int64_t begin, std::int64_t end,
                 std::uint8_t* seen) const;

  /// The same of queries [first, first + rows), whose rows of `seen` are `stride` apart. False where none sees any key.
  bool find_seen(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows, std::int64_t begin,
                 std::int64_t end, std::uint8_t* seen, std::int64_t stride) const;
  /// Do hidden keys weigh nothing beside those that gave each row its largest score, before it is scaled?
  [[nodiscard]] bool hides_fully(const float* maxima, std::int64_t rows) const;

  /// Threads worth waking, and into how many pieces of at least `rows` queries each head is to be cut for them.
  [[nodiscard]] Team team(Engine& engine) const;
  [[nodiscard]] std::int64_t pieces(const Team& team, std::int64_t rows) const;

  /// f(sequence, n, begin, end, thread) for queries [begin, end) of head n, for all pieces of all heads.
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
  float hidden;        ///< what Keras puts in the place of a scaled score that is hidden
  float hidden_score;  ///< the same before it is scaled, by a scale above 0

 private:
  Operand query_, key_, value_, context_, scores_, lse_;  // query, key and value may be parts of one packed array
  std::int64_t query_row_, key_row_, value_row_;          // from one position to the next
  std::int64_t first_key_ = 0, first_value_ = 0;          // where key and value begin
  Operand starts_{};                                      // of the sequences that share a batch entry
  std::optional<OverScores> bias_;
  std::vector<OverScores> masks_;  // of bool
};

/// Panels' worth of columns.
[[nodiscard]] inline std::int64_t padded(std::int64_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

/// Columns of the panel that `left` columns begin with, in whole vectors.
[[nodiscard]] inline std::int64_t whole_vectors(std::int64_t left) { return left <= kPanel / 2 ? kPanel / 2 : kPanel; }

/// S, H and V of an attention, before there is anything to attend to.
struct AttentionSize {
  explicit AttentionSize(const StepInfo& step);
  std::int64_t keys, head_size, value_size;
};

/// Bytes of arrays (rows, columns) of floats and of `bytes` bytes, in whole cache lines, at most kMaxSize.
[[nodiscard]] std::int64_t scratch_size(std::initializer_list<std::pair<std::int64_t, std::int64_t>> arrays,
                                        std::int64_t bytes);
/// The scratch of as many threads as there are.
[[nodiscard]] Needs scratch_of_threads(const StepInfo& step, std::int64_t bytes);

/// Attention whose products are on tiles, of float32 or bfloat16, as the machine's `multiplication` has it.
[[nodiscard]] std::string why_not_on_tiles(const StepInfo& step);
[[nodiscard]] Needs tile_attention_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_tile_attention(const Step& step);

/// Attention whose scores exist for a block of queries and keys at a time (Dao et al., FlashAttention, 2022).
[[nodiscard]] std::string why_not_flash(const StepInfo& step);
[[nodiscard]] Needs flash_attention_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_flash_attention(const Step& step);

}  // namespace attn::backends::cpu
