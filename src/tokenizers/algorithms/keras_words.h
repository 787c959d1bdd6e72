// Pre-tokenization and decoding rules that only KerasHub's tokenizers have.
#pragma once

#include <memory>
#include <string>

#include "pipeline/decoders.h"
#include "pipeline/pre_tokenizers.h"

namespace attn::tokenizers {

/// Splits words like WordPieceTokenizer: at ASCII spaces, controls and formats, which are dropped, and at punctuation
/// and (with `split_on_cjk`) ideographs, which are kept.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_keras_words(bool split_on_cjk);
/// Applies NFKC_Casefold to each piece, like Python's unicodedata (keras_hub/src/utils/tensor_utils.py).
[[nodiscard]] std::unique_ptr<PreTokenizer> make_keras_lower_case();
/// Inserts a space before every token except the first and except continuation tokens, whose `suffix_indicator` is
/// removed.
[[nodiscard]] Decoder make_keras_word_piece_decoder(std::string suffix_indicator);

/// Splits words like BytePairTokenizer in TensorFlow: GPT-2's pattern in RE2, which has no look-ahead
/// (split_strings_for_bpe in byte_pair_tokenizer.py). Drops a Devanagari 6 on its own.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_tensorflow_words(bool add_prefix_space);

}  // namespace attn::tokenizers
