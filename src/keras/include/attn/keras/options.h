// Options for reading, lowering and writing a model.
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
#include "attn/keras/media_prompt.h"
#include "attn/keras/version.h"

namespace attn::keras {

/// The maximum size of a config, in bytes.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 20;

/// The settings of a TextEmbedder that files beside a Hugging Face config state, and its preprocessor's length.
struct EmbedderSettings {
  std::string pooling_mode;  ///< as in KerasHub: "mean"
  bool normalize = false;
  std::vector<std::int64_t> dense_units{};  ///< the units of dense layers between the pooling and the normalization
  std::optional<std::int64_t> sequence_length;
};

struct ReadOptions {
  /// The input shape without the batch, with which a single layer, or a Sequential without an input, is built.
  std::optional<Shape> input_shape;
  /// The Keras version that wrote the config, if its file states it.
  std::optional<Version> keras_version;
  /// Whether the embeddings of a Llama are tied: if false, its weights contain a separate head. The config does not
  /// show this.
  std::optional<bool> tie_word_embeddings;
  /// Whether a Hugging Face config is read as by KerasHub's converter, which ignores some of its keys.
  bool as_keras_hub = false;
  /// Loads the weights of the file beside the config, by their keys in .weights.h5; `stored_bytes` is their size. They
  /// show the quantization of layers inside layers, which Keras's configs omit. Called only if needed for that.
  std::function<std::vector<NamedTensor>()> stored{};
  std::int64_t stored_bytes = 0;
  /// Reads a file that a layer stores in the archive, by its path without "assets/". Returns empty if there is none.
  std::function<std::optional<std::string>(const std::string& place)> asset{};
  /// Quantizes the model as model.quantize does: "int8", "int4" (blocks of 128), "int4/64", or "int4/-1" without
  /// blocks.
  std::optional<std::string> quantize{};
  /// For a Hugging Face config of a text embedder.
  std::optional<EmbedderSettings> embedder{};
};

/// The default of unknown lengths, in positions.
inline constexpr std::int64_t kDefaultSequenceLength = 128;

/// A decode step: new tokens that attend to the KV cache (keras_hub.models.CausalLM.call_with_cache).
struct DecodeOptions {
  Dim rows = 1, count = 1;        ///< number of rows and of new tokens in each: an input token_ids (rows, count) int32
  Dim entries = 1, capacity = 0;  ///< number of rows in the KV cache, and of positions in each
  std::optional<DType> cache_dtype;  ///< dtype of the KV cache; empty: the dtype of the keys and values
  Dim kept = 1;                      ///< number of last tokens after each of which a recurrent state is kept
  bool sources = false;         ///< the graph has an input sources (rows, capacity) int32, see graph::CachedAttention
  bool every_position = false;  ///< logits are given for all positions instead of the last only
  bool hidden = false;          ///< the graph has an output hidden (rows, count, D)
  /// For a task with an encoder: the number of sequences that the encoder reads, and their maximum length. Adds the
  /// inputs encoder_padding_mask (rows, encoder_length) int32 and, in the call that reads the sequences,
  /// encoder_token_ids (rows, encoder_length) int32.
  Dim encoder_entries = 0, encoder_length = 0;
  bool reads_encoder = false;
  /// Layers compute a single new token like KerasHub, including its errors.
  bool keras_hub_step = false;
  /// For a task with images or sounds: the shapes of their arrays, by the names of the inputs that this step, the first
  /// one, has besides token_ids. Arrays that the task does not read add no input.
  std::map<std::string, Shape> media{};
};

struct LowerOptions {
  std::optional<std::int64_t> batch;  ///< for an unknown first dimension; default: that of an input or array, otherwise
                                      /// The size of other unknown dimensions; default: 128, or the number of trained
                                      /// positions if smaller. A short encoder config with a fixed length is rebuilt;
                                      /// other fixed lengths are kept (reaches_length).
  std::optional<std::int64_t> sequence_length;
  std::map<std::string, Shape> input_shapes;  ///< complete shapes of some inputs, by name; these have priority
  std::optional<std::string> dtype;           ///< compute in this dtype instead of the layers' policies
  bool scores = false;                        ///< attention layers also return their probabilities
  /// Lowers a decode step of a decoder, instead of whole sequences. Inputs are token_ids, position () int32 (of the
  /// first new token) and sources; outputs are logits and hidden, in float32. Batch, lengths and shapes are then
  /// ignored. Weights and their order are those of the whole model.
  std::optional<DecodeOptions> decode;
  /// For a task that reads images of any size: lowers only the vision encoder, for one image with such a grid. The
  /// input is pixel_values (P,…) float32, the output image_embeddings (K,D) float32.
  std::optional<PatchGrid> image;
  /// For such a task: lowers texts with images, as KerasHub's score() does. Inputs are token_ids and padding_mask (B,T)
  /// int32 and, if there are rows K of images, image_embeddings (K,D) float32, vision_indices (K) int32, which count
  /// over the whole batch, and position_ids (B,4,T) int32. The output is logits (B,T,V) float32.
  std::optional<Dim> image_rows;
  /// Custom layers return zeros of the shapes that are known from other layers, and readers of unknown shapes are left
  /// out. Such a graph is for counting, not for running.
  bool open_custom = false;
  bool symbolic = false;  ///< unknown dimensions stay unknown: a graph for inspection, not for running
};

enum class ConfigFormat : std::uint8_t { json, python };

struct ConfigOptions {
  ConfigFormat format = ConfigFormat::json;
  std::optional<std::string> layer;  ///< only the layer with this name ("block/dense" inside a nested model)
  Version version = kNewest;         ///< use the keys of that Keras version
  /// Includes the quantization of layers inside layers. Keras 3.15 omits it, and cannot load its own files.
  bool inner_policies = false;
  bool assets = false;  ///< include data that an archive stores separately, so that the config is complete
  int indent = 0;       ///< spaces for each level of JSON; 0: a single line
};

}  // namespace attn::keras
