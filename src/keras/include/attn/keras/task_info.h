// What a task of KerasHub (keras_hub.models.Task) says of itself, beside being a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// A layer that makes numbers of what comes in, inside a preprocessor: a tokenizer or a converter of images.
struct PreprocessorPart {
  std::string name, class_name;
  /// Of a converter: (height, width), with kUnknown where its config has none; a tokenizer has none.
  std::optional<Shape> image_size;
  /// Of a tokenizer: the rows of its vocabulary, where somebody has read its files.
  std::optional<std::int64_t> vocabulary_size;
};

/// What turns text or images into a task's inputs, as its config tells it.
struct Preprocessor {
  std::string name, class_name;
  std::vector<PreprocessorPart> parts;
  /// Tokens that texts are cut to and filled up to; nothing where the config has none. A task that decodes after an
  /// encoder has the latter two.
  std::optional<std::int64_t> sequence_length, encoder_sequence_length, decoder_sequence_length;
  bool add_start_token = true, add_end_token = true;
};

enum class SpecialToken : std::uint8_t { start, end, pad };

/// How a task that decodes after an encoder puts texts into sequences: the encoder's ends with the end token.
struct Packing {
  bool encoder_start = true;                ///< does the encoder's sequence begin with the start token?
  std::vector<SpecialToken> decoder_start;  ///< what the decoder's begins with
};

struct TaskInfo {
  std::string backbone_class;
  /// What the keys of the backbone's weights begin with in a file of the whole: "layers/gpt2_backbone/".
  std::string backbone_store;
  std::optional<Preprocessor> preprocessor;
  std::optional<Packing> packing;  ///< of a task with an encoder
  /// What KerasHub does wrongly where it goes on with tokens one by one, behind "KerasHub …"; empty: nothing.
  std::string keras_hub_error{};
};

}  // namespace attn::keras
