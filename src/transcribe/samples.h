// Parts of sounds and of texts.
#pragma once

#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::transcribe {

/// Returns the samples from `first` up to `last`, or to the end.
[[nodiscard]] Tensor samples_in(const Tensor& samples, Dim first, Dim last);

/// Returns the text of ids below `end` that are not special.
[[nodiscard]] std::string text_of(const tokenizers::Tokenizer& tokenizer, const std::vector<tokenizers::Id>& tokens,
                                  tokenizers::Id end);

}  // namespace attn::transcribe
