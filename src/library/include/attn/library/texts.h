// Strings that go into a model, numbers that it hashes, and strings that come out of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/keras/model.h"

namespace attn::library {

/// What the model's layers of text make of strings, and of numbers that they hash, by the names of these layers, which
/// are inputs of its graph. `texts` and `numbers` are by the names of input layers; strings of (batch,) are taken for
/// (batch, 1) where that is the input's shape. Throws Error (bad_input) for a shape that an input does not take, for a
/// layer that lacks one of its inputs, and for a model whose vocabulary is not there.
[[nodiscard]] std::map<std::string, Tensor> encode_texts(const keras::Model& model,
                                                         const std::map<std::string, TextArray>& texts,
                                                         const std::map<std::string, Tensor>& numbers);

/// A model's outputs: numbers, and strings.
struct Outputs {
  std::vector<NamedTensor> numbers;
  std::vector<NamedTexts> texts;
};

/// What a pass gave, with the strings of `texts` (Model::text_outputs) in place of their places in a vocabulary.
[[nodiscard]] Outputs decode_texts(const std::vector<keras::TextOutput>& texts,
                                   const std::vector<NamedTensor>& outputs);

}  // namespace attn::library
