// Strings that go into a model, and numbers that it hashes.
#pragma once

#include <map>
#include <string>

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

}  // namespace attn::library
