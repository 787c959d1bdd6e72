// The properties that a KerasHub task (keras_hub.models.Task) has besides those of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// A layer in a preprocessor that converts inputs to numbers: a tokenizer, or a converter of images or sounds.
struct PreprocessorPart {
  std::string name, class_name;
  /// For an image converter: (height, width) in pixels, with kUnknown if its config has none. Empty for the others.
  std::optional<Shape> image_size;
  /// For a converter of sounds: the result of its audio_shape(), with kUnknown for None. Empty for the others.
  std::optional<std::vector<std::int64_t>> audio_shape;
  /// For a tokenizer: the size of its vocabulary, if its files were read.
  std::optional<std::int64_t> vocabulary_size;
};

/// The preprocessor that converts text or images to a task's inputs, according to its config.
struct Preprocessor {
  std::string name, class_name;
  std::vector<PreprocessorPart> parts;
  /// The number of tokens to which texts are cut and padded; empty if the config has none. A task with encoder and
  /// decoder has the latter two.
  std::optional<std::int64_t> sequence_length, encoder_sequence_length, decoder_sequence_length;
  /// The number of positions of an image in a prompt; empty if the config has none.
  std::optional<std::int64_t> num_vision_tokens_per_image;
  bool add_start_token = true, add_end_token = true;
};

/// The path of the table with which a decoder's task converts vectors to logits, if that is not its token embedding's.
/// The backbone has it too, but its result does not depend on it.
inline constexpr std::string_view kLogitsTable = "token_embedding/reverse_embeddings";

enum class SpecialToken : std::uint8_t { start, end, pad };

/// The special tokens that a task with encoder and decoder adds to sequences.
struct Packing {
  bool encoder_start = true;                ///< whether the encoder's sequence begins with the start token
  std::vector<SpecialToken> decoder_start;  ///< the tokens at the beginning of the decoder's sequence
  bool encoder_end = true;                  ///< whether the encoder's sequence ends with the end token
};

struct TaskInfo {
  std::string backbone_class;
  /// The prefix of the backbone's weight keys in a file of the whole model: "layers/gpt2_backbone/".
  std::string backbone_store;
  std::optional<Preprocessor> preprocessor;
  std::optional<Packing> packing;  ///< for a task with an encoder
  /// The error that KerasHub makes in single-token decode steps, as text after "KerasHub …"; empty if there is none.
  std::string keras_hub_error{};
  /// The beginning of the paths of weights on which the task's result does not depend; empty if there are none.
  std::string unused_weights{};
  bool predicts_tokens = false;  ///< whether the output at a position is the logits of the next token
};

}  // namespace attn::keras
