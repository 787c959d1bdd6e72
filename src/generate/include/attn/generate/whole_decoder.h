// A decoder that keeps no caches: a model of whole sequences, which it runs anew for each token.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/generate/decoder.h"
#include "attn/graph/graph.h"

namespace attn::run {
class Session;
}

namespace attn::generate {

/// Which inputs of a graph of whole sequences are tokens, (rows, length) integers each.
struct WholeInputs {
  std::size_t tokens = 0;              ///< the sequence that goes on
  std::optional<std::size_t> encoder;  ///< the one that an encoder reads
};

/// How a graph takes tokens and gives what comes behind each. Its inputs (rows, length) are ids of an embedding's rows;
/// the one that goes on is as long as the one output (rows, length, V) and chooses from V, the last such where there
/// are several; another is the encoder's. Throws Error (bad_input), which calls the graph `name`, where it is
/// otherwise.
[[nodiscard]] WholeInputs whole_inputs(const graph::Graph& graph, const std::string& name);

/// Fills what is not given with token 0. Its states are the tokens alone, so that branches cost nothing.
class WholeDecoder final : public Decoder {
 public:
  /// `encoder_tokens` has a sequence for each of the rows, no longer than the encoder's input, of a graph that has one.
  /// The graph's rows are those of a batch and `branches` for each. The backend must outlive this.
  WholeDecoder(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
               const WholeInputs& inputs, Dim branches, const std::vector<std::vector<Token>>& encoder_tokens,
               const backends::CompileOptions& options);
  ~WholeDecoder() override;

  [[nodiscard]] Dim vocabulary_size() const override { return vocabulary_size_; }
  [[nodiscard]] Dim capacity() const override { return capacity_; }
  /// Gives no hidden states. Throws Error (bad_input) at the first call where what comes behind a position depends on
  /// tokens after it.
  Ahead advance(const Advance& step) override;

 private:
  /// Logits (rows, length, V) for the tokens that are kept, behind which `filler` stands.
  void run(Token filler);
  void place(const Advance& step);
  [[nodiscard]] Tensor asked(const Advance& step) const;
  void check_causal(const Advance& step);

  std::unique_ptr<run::Session> session_;
  std::vector<Tensor> inputs_;
  std::size_t tokens_input_;
  Dim rows_ = 0, capacity_ = 0, vocabulary_size_ = 0;
  bool gives_probabilities_ = false, is_checked_ = false;
  std::vector<std::vector<Token>> tokens_;  // by row, as far as they are known
  Tensor output_;
};

}  // namespace attn::generate
