// How KerasHub's tokenizers cut texts and put them together, where that is like nobody else's.
#pragma once

#include <memory>
#include <string>

#include "decoders.h"
#include "pre_tokenizers.h"

namespace attn::tokenizers {

/// WordPieceTokenizer's words: at spaces of ASCII, controls and formats, which go, and at punctuation and, where
/// `split_on_cjk`, ideographs, which stay.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_keras_words(bool split_on_cjk);
/// Each piece in NFKC_Casefold, as Python's unicodedata makes it (keras_hub/src/utils/tensor_utils.py).
[[nodiscard]] std::unique_ptr<PreTokenizer> make_keras_lower_case();
/// A space before each token but the first, and but those that begin with `suffix_indicator` and go on, which goes.
[[nodiscard]] Decoder make_keras_word_piece_decoder(std::string suffix_indicator);

/// BytePairTokenizer's words in TensorFlow: GPT-2's by expressions of RE2, which cannot look ahead
/// (split_strings_for_bpe in byte_pair_tokenizer.py). A Devanagari 6 by itself is lost.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_tensorflow_words(bool add_prefix_space);

}  // namespace attn::tokenizers
