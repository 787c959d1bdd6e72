// String inputs, numbers to be hashed, and string outputs of a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/keras/model.h"

namespace attn::open {

/// Encodes strings, and numbers to be hashed, by the model's text layers. The result is keyed by the names of these
/// layers, which are inputs of the graph. `texts` and `numbers` are keyed by input layer; strings of shape (batch,) are
/// accepted for an input of shape (batch, 1). Throws Error (bad_input) for a wrong shape, for a layer that lacks one of
/// its inputs, and for a model without its vocabulary.
[[nodiscard]] std::map<std::string, Tensor> encode_texts(const keras::Model& model,
                                                         const std::map<std::string, TextArray>& texts,
                                                         const std::map<std::string, Tensor>& numbers);

/// A model's outputs: numbers, and strings.
struct Outputs {
  std::vector<NamedTensor> numbers;
  std::vector<NamedTexts> texts;
};

/// Returns the results of a pass, with strings in place of vocabulary indices for `texts` (Model::text_outputs).
[[nodiscard]] Outputs decode_texts(const std::vector<keras::TextOutput>& texts,
                                   const std::vector<NamedTensor>& outputs);

}  // namespace attn::open
