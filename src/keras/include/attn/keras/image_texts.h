// Models that compare images with texts: CLIP, MetaCLIP 2, SigLIP.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// The changes that KerasHub's preprocessor of such a model makes to a text before its tokenizer reads it.
enum class TextCleaning : std::uint8_t {
  lower,      ///< ASCII letters become small
  canonical,  ///< also removes ASCII punctuation, and repeated and outer spaces
};

/// The inputs and the results of such a model, and the settings of its preprocessor. Strings are constants.
struct ImageTexts {
  std::string_view texts;         ///< the input of token ids
  std::string_view similarities;  ///< the output of logits (images, texts)
  bool is_independent;            ///< whether each logit is a probability by sigmoid; otherwise softmax over the texts
  std::string_view preprocessor;  ///< class in KerasHub
  std::int64_t length;            ///< default number of tokens
  bool has_start;                 ///< whether texts begin with the start token by default
  TextCleaning cleaning;
  std::string_view cleaning_key;  ///< the preprocessor's flag for it; default true
};

}  // namespace attn::keras
