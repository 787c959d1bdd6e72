// Inputs of a run: given arrays, and random values for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// Assigns arrays of one file to the inputs of a model by name. Three kinds of names count by position: Keras's names
/// for tensors of unnamed inputs ("keras_tensor", "keras_tensor_1", …), those of numpy.savez ("arr_0", …), and that of
/// a .npy file. `file` is the path of the file.
///
/// With `others`, a single array is assigned to a single input whatever its name. The file may then contain further
/// arrays, whose names are appended to `others`. Throws Error (bad_input) for any other name that is not an input's,
/// and for a file without arrays.
[[nodiscard]] std::map<std::string, Tensor> name_inputs(const std::vector<std::string>& inputs,
                                                        const std::vector<NamedTensor>& arrays, const std::string& file,
                                                        std::vector<std::string>* others = nullptr);

/// Returns whether the name is similar to that of an input that is not among the given ones.
[[nodiscard]] bool is_misspelt(const std::string& name, const std::vector<std::string>& inputs,
                               const std::map<std::string, Tensor>& given);

/// Returns the number of rows of the smallest embedding table that the values of `input` index. They may do so directly
/// or through operations that pass them on. Returns empty if they index no table.
[[nodiscard]] std::optional<std::int64_t> indexed_rows(const graph::Graph& graph, graph::ValueId input);

/// Returns a tensor for each graph input. A given array must have the input's shape. Float arrays are converted to any
/// float dtype; integer and bool arrays to any integer or bool dtype that can hold their values. Missing inputs are
/// drawn from RandomStream(seed, input name):
/// - token ids (also if the input is float): uniform in the smallest table that they index
/// - other floats: standard normal
/// - other integers: uniform in [0, 10)
/// - masks (bool, or an integer input with "mask" in its name): all true
/// Throws Error (bad_input) for a shape or dtype that does not fit.
[[nodiscard]] std::vector<Tensor> make_inputs(const graph::Graph& graph, const std::map<std::string, Tensor>& given,
                                              std::uint64_t seed);

}  // namespace attn::run
