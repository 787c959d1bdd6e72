#include "samples.h"

#include <algorithm>
#include <cstring>

namespace attn::transcribe {

Tensor samples_in(const Tensor& samples, Dim first, Dim last) {
  const Dim count = std::max<Dim>(std::min(last, samples.shape()[0]) - first, 0);
  Tensor out(DType::float32, {count});
  std::memcpy(out.data(), samples.data() + first * static_cast<Dim>(sizeof(float)),
              static_cast<std::size_t>(count) * sizeof(float));
  return out;
}

std::string text_of(const tokenizers::Tokenizer& tokenizer, const std::vector<tokenizers::Id>& tokens,
                    tokenizers::Id end) {
  const std::vector<tokenizers::Id>& special = tokenizer.specials().all;
  std::vector<tokenizers::Id> words;
  for (const tokenizers::Id id : tokens)
    if (id < end && tokenizer.token(id) && !std::ranges::binary_search(special, id)) words.push_back(id);
  return tokenizers::valid_utf8(tokenizer.decode(words));
}

}  // namespace attn::transcribe
