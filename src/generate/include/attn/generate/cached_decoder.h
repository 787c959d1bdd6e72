// A decoder that reads each token once: keys and values of earlier tokens are states of the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/generate/decoder.h"
#include "attn/graph/graph.h"

namespace attn::run {
class Session;
}

namespace attn::generate {

/// What a graph of new tokens is lowered for.
struct StepShape {
  Dim rows = 1, count = 1;        ///< new tokens: token_ids (rows, count) int32
  Dim entries = 1, capacity = 0;  ///< of the caches
  bool sources = false;           ///< with an input sources (rows, capacity) int32
  bool every_position = false;    ///< logits (rows, count, V); else (rows, 1, V), of the last position
  bool hidden = false;            ///< with an output hidden (rows, count, D)
  Dim encoder_entries = 0;        ///< sequences that an encoder reads
  Dim encoder_length = 0;         ///< with an input encoder_padding_mask (rows, encoder_length) int32
  bool reads_encoder = false;     ///< and with encoder_token_ids (rows, encoder_length) int32
  bool keras_hub_step = false;    ///< as KerasHub computes one new token, also where it is wrong
  // NOLINTNEXTLINE(modernize-use-nullptr): none is meant
  friend auto operator<=>(const StepShape&, const StepShape&) = default;
};

/// The graph for a shape: inputs token_ids, position () int32 and sources; outputs logits and hidden in float32. Its
/// weights are the same, in the same order, whatever the shape, and so are the names of its states.
using LowerStep = std::function<graph::Graph(const StepShape&)>;

struct CachedDecoderOptions {
  Dim rows = 1;             ///< sequences side by side
  Dim branches = 1;         ///< rows of the caches for each
  Dim capacity = 0;         ///< positions
  Dim prefill_chunk = 512;  ///< the most tokens a row that are read at a time
  bool hidden = false;      ///< give hidden states
  /// Of a model with an encoder: the tokens that it reads for each row; else none.
  std::vector<std::vector<Token>> encoder_tokens;
  /// KerasHub reads the last token of a prompt once more, as a new token on its own, and some of its models compute new
  /// tokens wrongly: do as it does.
  bool as_keras_hub = false;
  backends::CompileOptions compile;
  /// The weights once more, for a graph that wants one which was let go of when it was packed. Without it all of them
  /// are kept.
  std::function<std::vector<Tensor>()> reload = nullptr;
};

class CachedDecoder final : public Decoder {
 public:
  /// `weights` are in the order of the graphs' weights. The backend must outlive this.
  CachedDecoder(const backends::Backend& backend, LowerStep lower, std::vector<Tensor> weights,
                CachedDecoderOptions options);
  ~CachedDecoder() override;

  [[nodiscard]] Dim vocabulary_size() const override { return vocabulary_size_; }
  [[nodiscard]] Dim capacity() const override { return options_.capacity; }
  Ahead advance(const Advance& step) override;

  /// Bytes of all states, and what the executables hold.
  [[nodiscard]] std::int64_t cache_bytes() const { return cache_bytes_; }
  [[nodiscard]] std::int64_t memory_bytes() const;
  /// Bytes of weights that a step of one token a row reads, and of caches where so many positions are filled, its own
  /// among them.
  [[nodiscard]] std::int64_t weight_bytes() const { return weight_bytes_; }
  [[nodiscard]] std::int64_t cache_bytes_read(Dim positions) const;

  /// What the last advance() ran, and on what: to be run again for a profile.
  [[nodiscard]] run::Session& last_session();
  [[nodiscard]] std::span<const Tensor> last_inputs() const;

 private:
  struct Part;
  /// What an attention reads of its caches: bytes for each position, and the most positions.
  struct CacheRead {
    std::int64_t bytes = 0;
    Dim most = 0;
    bool grows = true;  ///< with the positions that are filled; else it is always the most
  };
  [[nodiscard]] StepShape step_shape(Dim rows, Dim count) const;
  void measure_step(const graph::Graph& graph);
  Part& part(const StepShape& shape);
  [[nodiscard]] std::vector<Tensor> weights_for(const plan::Plan& plan);
  struct Run {
    Dim first = 0, count = 0;  ///< which of the step's tokens
    bool every_position = false, keras_hub_step = false, reads_encoder = false;
  };
  void run(const Advance& step, const Run& which, Ahead& out);
  void read(const Advance& step, Ahead& out);

  const backends::Backend& backend_;
  LowerStep lower_;
  std::vector<Tensor> weights_;                       // empty ones where they can be reloaded
  std::vector<std::weak_ptr<std::byte>> read_still_;  // by weight: its bytes, while an executable reads them
  std::vector<Tensor> small_;                         // those whose bytes are not worth reading all again
  CachedDecoderOptions options_;
  std::map<StepShape, std::unique_ptr<Part>> parts_;
  Part* last_ = nullptr;
  std::vector<CacheRead> cache_reads_;
  Dim vocabulary_size_ = 0, encoder_length_ = 0;
  std::int64_t cache_bytes_ = 0, weight_bytes_ = 0;
};

}  // namespace attn::generate
