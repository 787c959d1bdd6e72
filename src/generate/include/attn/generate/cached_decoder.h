// A decoder that reads each token once. The keys and values of earlier tokens, or a recurrent state after them, are
// states of the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/generate/decoder.h"
#include "attn/graph/graph.h"
#include "attn/run/weight_supply.h"

namespace attn::run {
class Session;
}

namespace attn::generate {

/// The shape for which a decode step is lowered.
struct StepShape {
  Dim rows = 1, count = 1;        ///< number of rows and of new tokens in each: token_ids (rows, count) int32
  Dim entries = 1, capacity = 0;  ///< number of entries and of positions in the KV cache
  Dim kept = 1;                   ///< number of last tokens after each of which a recurrent state is kept
  bool sources = false;           ///< the graph has an input sources (rows, capacity) int32
  bool every_position = false;    ///< logits are (rows, count, V), otherwise (rows, 1, V) for the last position
  bool hidden = false;            ///< the graph has an output hidden (rows, count, D)
  Dim encoder_entries = 0;        ///< number of sequences that the encoder reads
  Dim encoder_length = 0;         ///< length of the input encoder_padding_mask (rows, encoder_length) int32
  /// The graph also has an input encoder_token_ids (rows, encoder_length) int32, or encoder_features (rows,
  /// encoder_length, width) float32.
  bool reads_encoder = false;
  bool keras_hub_step = false;  ///< compute a single new token like KerasHub, including its errors
  bool reads_media = false;     ///< the graph also has the inputs of the prompts' images and sounds
  // NOLINTNEXTLINE(modernize-use-nullptr): none is meant
  friend auto operator<=>(const StepShape&, const StepShape&) = default;
};

/// Lowers the graph for a shape. Its inputs are token_ids, position () int32 and sources; its outputs are logits and
/// hidden in float32. Weights and their order, and the names of states, are the same for all shapes.
using LowerStep = std::function<graph::Graph(const StepShape&)>;

struct CachedDecoderOptions {
  Dim rows = 1;      ///< sequences in the batch
  Dim branches = 1;  ///< cache rows for each sequence
  Dim capacity = 0;  ///< maximum positions
  Dim kept = 1;      ///< recurrent states kept: a step may begin up to `kept` − 1 positions before the last end
  Dim prefill_chunk = 512;  ///< maximum tokens of a row in one prefill pass
  bool hidden = false;      ///< output hidden states
  /// For a model with an encoder: the encoder's tokens of each row; otherwise empty.
  std::vector<std::vector<Token>> encoder_tokens;
  /// For prompts with images or sounds: the graph's further inputs for them. All prompts then have one length, and the
  /// first step reads them whole.
  std::vector<NamedTensor> media{};
  /// For a model whose encoder reads features: those of all rows, (rows, length, width) float32.
  std::optional<Tensor> encoder_features{};

  /// Returns the length of the encoder's longest input; 0 for a model without an encoder.
  [[nodiscard]] Dim encoder_length() const;
  /// Reproduce KerasHub, which reads the last token of a prompt once more as a single new token, unless that needs a
  /// recurrent state that is not kept. Some of its models compute single new tokens wrongly.
  bool as_keras_hub = false;
  backends::CompileOptions compile;
  /// Changes the graph of every step, as steering does. It keeps the inputs, the outputs and the states.
  std::function<graph::Graph(graph::Graph)> edit = nullptr;
  /// Loads the weights again, for a graph that needs one that was freed after packing. If empty, all weights are kept.
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
  DecoderOutput advance(const Advance& step) override;
  /// Returns whether a step may begin at the position. A KV cache has all positions that were read; a recurrent state
  /// is kept only after the last ones.
  [[nodiscard]] bool can_begin_at(Dim position) const;

  /// Replaces the encoder's features, which have the same shape as those in the options. The next sequences begin at
  /// position 0.
  void set_encoder_features(const Tensor& features);

  /// `cache_bytes` returns the size in bytes of all states, `memory_bytes` that of the executables' own memory.
  [[nodiscard]] std::int64_t cache_bytes() const { return cache_bytes_; }
  [[nodiscard]] std::int64_t memory_bytes() const;
  /// Returns the bytes of weights that a decode step of one token for each row reads. `cache_bytes_read` returns the
  /// bytes of states that the step reads if `positions` are filled, including the new one.
  [[nodiscard]] std::int64_t weight_bytes() const { return weight_bytes_; }
  [[nodiscard]] std::int64_t cache_bytes_read(Dim positions) const;

  /// Returns the last session and inputs that advance() used, for a profile.
  [[nodiscard]] run::Session& last_session();
  [[nodiscard]] std::span<const Tensor> last_inputs() const;

 private:
  struct Part;
  /// The cache reads of one attention, or of all recurrent states: bytes for each position, and the maximum of
  /// positions.
  struct CacheRead {
    std::int64_t bytes = 0;
    Dim most = 0;
    bool grows = true;  ///< whether a step reads only the filled positions; otherwise it always reads the maximum
  };
  [[nodiscard]] StepShape step_shape(Dim rows, Dim count) const;
  void measure_step(const graph::Graph& graph);
  Part& part(const StepShape& shape);
  struct Run {
    Dim first = 0, count = 0;  ///< range of tokens in the step
    bool every_position = false, keras_hub_step = false, reads_encoder = false, reads_media = false;
  };
  void run(const Advance& step, const Run& which, DecoderOutput& out);
  void read(const Advance& step, DecoderOutput& out);

  const backends::Backend& backend_;
  LowerStep lower_;
  run::WeightSupply weights_;
  CachedDecoderOptions options_;
  std::map<StepShape, std::unique_ptr<Part>> parts_;
  Part* last_ = nullptr;
  std::vector<CacheRead> cache_reads_;
  Dim vocabulary_size_ = 0, encoder_length_ = 0;
  std::int64_t cache_bytes_ = 0, weight_bytes_ = 0;
  bool is_recurrent_ = false;
  Dim first_begin_ = 1, end_ = 0;  // a step with a recurrent state begins at 0, or from `first_begin_` to `end_`
};

}  // namespace attn::generate
