// What reading, lowering and writing a model may be told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/keras/version.h"

namespace attn::keras {

/// Longer configs are refused.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 20;

struct ReadOptions {
  /// Without the batch: builds a single layer, or a Sequential that knows no input.
  std::optional<Shape> input_shape;
  /// The Keras that wrote the config, where its file says so beside it.
  std::optional<Version> keras_version;
  /// Do the weights of a Llama show a head of its own? Its config does not tell.
  std::optional<bool> tie_word_embeddings;
  /// Of a Hugging Face config: read it as KerasHub's converter does, which reads over some of what it says.
  bool as_keras_hub = false;
  /// What the file beside the config holds of weights, by their places in .weights.h5, and its size. It shows how
  /// layers inside of layers are quantized, which Keras's configs do not tell; it is asked only where that may be so.
  std::function<std::vector<NamedTensor>()> stored{};
  std::int64_t stored_bytes = 0;
  /// A file that layers keep in the archive, by its place there without "assets/"; nothing where there is none.
  std::function<std::optional<std::string>(const std::string& place)> asset{};
  /// Read it as model.quantize would leave it: "int8", "int4" (blocks of 128), "int4/64", or "int4/-1" without blocks.
  std::optional<std::string> quantize{};
};

/// Stands for unknown lengths that nothing else tells.
inline constexpr std::int64_t kDefaultSequenceLength = 128;

/// New tokens that go on with what is cached of those before them (keras_hub.models.CausalLM.call_with_cache).
struct DecodeOptions {
  Dim rows = 1, count = 1;           ///< of the new tokens: an input token_ids (rows, count) int32
  Dim entries = 1, capacity = 0;     ///< of the caches: rows, and positions of each
  std::optional<DType> cache_dtype;  ///< nothing: that of the keys and values
  bool sources = false;              ///< with an input sources (rows, capacity) int32, as of graph::CachedAttention
  bool every_position = false;       ///< logits of all positions, not of the last alone
  bool hidden = false;               ///< with an output hidden (rows, count, D)
  /// Of a task with an encoder: sequences that it reads, and the longest. With an input encoder_padding_mask (rows,
  /// encoder_length) int32, and encoder_token_ids (rows, encoder_length) int32 in the call that reads them.
  Dim encoder_entries = 0, encoder_length = 0;
  bool reads_encoder = false;
  /// Layers compute what KerasHub's do for one new token also where they are wrong.
  bool keras_hub_step = false;
};

struct LowerOptions {
  std::optional<std::int64_t> batch;  ///< for an unknown first dimension; else an input's or array's own, else 1
  /// For the other unknown dimensions; else 128, or as many as there are learned positions. A short encoder config that
  /// fixes its length is built anew with it; other fixed lengths stay (reaches_length).
  std::optional<std::int64_t> sequence_length;
  std::map<std::string, Shape> input_shapes;  ///< whole shapes of inputs that are there, by name; they win
  std::optional<std::string> dtype;           ///< compute in this dtype instead of the layers' own policies
  bool scores = false;                        ///< attention layers give their probabilities too
  /// Of a model that decodes, in place of whole sequences: inputs are token_ids, position () int32, which is that of
  /// the first new token, and sources; outputs are logits and hidden, in float32. Batch, lengths and shapes mean
  /// nothing then. The weights are those of the whole, in their order.
  std::optional<DecodeOptions> decode;
  /// Custom layers give zeros of the shapes that are told of them, and what reads an unknown shape is left out: a graph
  /// to count, not to run.
  bool open_custom = false;
  bool symbolic = false;  ///< unknown dimensions stay so: a graph to look at, not to run
};

enum class ConfigFormat : std::uint8_t { json, python };

struct ConfigOptions {
  ConfigFormat format = ConfigFormat::json;
  std::optional<std::string> layer;  ///< the layer of this name (also "block/dense" inside a nested model)
  Version version = kNewest;         ///< the keys of that Keras
  /// Of layers inside of layers say how they are quantized, too: Keras 3.15 does not, and cannot load what it wrote.
  bool inner_policies = false;
  bool assets = false;  ///< with what an archive keeps beside it, so that it stands alone
  int indent = 0;       ///< blanks for each level of JSON; 0: all on one line
};

}  // namespace attn::keras
