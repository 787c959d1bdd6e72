// A decoder without a KV cache: runs a model of whole sequences again for each token.
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

/// The graph inputs that are tokens, (rows, length) integers each.
struct SequenceInputs {
  std::size_t tokens = 0;              ///< the sequence that is continued
  std::optional<std::size_t> encoder;  ///< the sequence that the encoder reads
  std::optional<std::size_t> mask;     ///< "padding_mask": 1 for the tokens of the continued sequence, then 0
};

/// Finds the token inputs and the logits output of a graph. Inputs (rows, length) are indices into an embedding table.
/// The continued one is as long as the single output (rows, length, V) and indexes V rows; the last such input if there
/// are several. Another one belongs to the encoder. Throws Error (bad_input) with the graph's `name` if the graph
/// differs.
[[nodiscard]] SequenceInputs sequence_inputs(const graph::Graph& graph, const std::string& name);

/// Fills missing positions with token 0. Its only state is the tokens, so branches cost nothing.
class UncachedDecoder final : public Decoder {
 public:
  /// `encoder_tokens` has a sequence for each row, no longer than the encoder's input, if the graph has one. The rows
  /// of the graph are a batch times `branches`. `arrays` are further inputs. The backend must outlive this.
  UncachedDecoder(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
                  const SequenceInputs& inputs, Dim branches, const std::vector<std::vector<Token>>& encoder_tokens,
                  const backends::CompileOptions& options, const std::vector<NamedTensor>& arrays = {});
  ~UncachedDecoder() override;

  [[nodiscard]] Dim vocabulary_size() const override { return vocabulary_size_; }
  [[nodiscard]] Dim capacity() const override { return capacity_; }
  /// Returns no hidden states. Throws Error (bad_input) at the first call if the prediction at a position depends on
  /// later tokens.
  DecoderOutput advance(const Advance& step) override;

 private:
  /// Computes logits (rows, length, V) for the current tokens, followed by `filler`.
  void run(Token filler);
  void place(const Advance& step);
  [[nodiscard]] Tensor asked(const Advance& step) const;
  void check_causal(const Advance& step);

  std::unique_ptr<run::Session> session_;
  std::vector<Tensor> inputs_;
  std::size_t tokens_input_;
  std::optional<std::size_t> mask_input_;
  Dim rows_ = 0, capacity_ = 0, vocabulary_size_ = 0;
  bool gives_probabilities_ = false, is_checked_ = false;
  std::vector<std::vector<Token>> tokens_;  // the known tokens of each row
  std::vector<std::vector<Token>> own_;     // the token that each row read last at each position, whatever its context
  Tensor output_;
};

}  // namespace attn::generate
