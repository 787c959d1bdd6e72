// What goes into a model: arrays that were given, random numbers for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// Arrays of one file by the names of a model's inputs. Two kinds of names are none and count by position: those that
/// Keras gives to the tensors of unnamed inputs ("keras_tensor", "keras_tensor_1", …), and that of a .npy file.
/// Otherwise throws Error (bad_input) for a name that is no input's, and where there is no array at all. `file` is the
/// path the arrays came from.
[[nodiscard]] std::map<std::string, Tensor> name_inputs(const std::vector<std::string>& inputs,
                                                        const std::vector<NamedTensor>& arrays,
                                                        const std::string& file);

/// A tensor per graph input. A given array must have the input's shape; float arrays take any float input's dtype,
/// integer and bool arrays any integer or bool input's that holds their values. Missing inputs are drawn from
/// RandomStream(seed, input name): floats standard normal, token indices uniform in the smallest table that they index,
/// other integers uniform in [0, 10); masks (bool, or an integer input with "mask" in its name) are all true. Throws
/// Error (bad_input) for a shape or dtype that does not fit.
[[nodiscard]] std::vector<Tensor> make_inputs(const graph::Graph& graph, const std::map<std::string, Tensor>& given,
                                              std::uint64_t seed);

}  // namespace attn::run
