// What goes into a model: arrays that were given, random numbers for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// Arrays of one file by the names of a model's inputs. Three kinds of names count by position: those that Keras gives
/// to the tensors of unnamed inputs ("keras_tensor", "keras_tensor_1", …), those of numpy.savez ("arr_0", …), and that
/// of a .npy file. `file` is the path of the file.
///
/// With `others`, a single array is for a single input, whatever its name, and beside the arrays of inputs a file may
/// hold further ones, whose names are added to `others`. Throws Error (bad_input) for any other name that is not an
/// input's, and for a file without arrays.
[[nodiscard]] std::map<std::string, Tensor> name_inputs(const std::vector<std::string>& inputs,
                                                        const std::vector<NamedTensor>& arrays, const std::string& file,
                                                        std::vector<std::string>* others = nullptr);

/// Is the name close to that of an input that is not among the given ones?
[[nodiscard]] bool is_misspelt(const std::string& name, const std::vector<std::string>& inputs,
                               const std::map<std::string, Tensor>& given);

/// Returns the size of the smallest table that the values of `input` index, directly or through operations that hand
/// them on; nothing where they index none.
[[nodiscard]] std::optional<std::int64_t> indexed_rows(const graph::Graph& graph, graph::ValueId input);

/// Returns a tensor per graph input. A given array must have the input's shape; float arrays take any float input's
/// dtype, integer and bool arrays any integer or bool input's that holds their values. Missing inputs are drawn from
/// RandomStream(seed, input name): token indices uniform in the smallest table that they index, also where the input is
/// of floats, other floats standard normal, other integers uniform in [0, 10); masks (bool, or an integer input with
/// "mask" in its name) are all true. Throws Error (bad_input) for a shape or dtype that does not fit.
[[nodiscard]] std::vector<Tensor> make_inputs(const graph::Graph& graph, const std::map<std::string, Tensor>& given,
                                              std::uint64_t seed);

}  // namespace attn::run
