// The arrays that a model is trained on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/model.h"
#include "attn/open/inputs.h"
#include "attn/train/table.h"

namespace attn::train {

/// Reads arrays from files (.npz, .npy, .safetensors) by name. The names are the model's inputs, targets "y" ("target"
/// is another name) or "y:<output>", and weights "sample_weight" or "sample_weight:<output>". All have the same number
/// of rows. NAME=FILE gives the name NAME to the file's only array, or selects the array of that name. The bytes of a
/// text (.txt) are the only input, in consecutive rows of the model's length, and each target is the byte that follows.
/// A table (.csv) is read by table_arrays(). If several files have the same array, the rows of each are appended in the
/// order of the files. Throws Error (bad_input) for an array of another name, or of another number of rows than the
/// others. Throws it also if the rows of an array differ in shape or dtype from those in the file before.
[[nodiscard]] open::GivenInputs read_data(const keras::Model& model, const std::vector<std::string>& files,
                                          const DataReading& reading = {});

/// Takes arrays in memory by the names of read_data(): the model's inputs, "y" or "y:<output>", "sample_weight" or
/// "sample_weight:<output>". Throws Error (bad_input) as read_data() does.
[[nodiscard]] open::GivenInputs named_data(const keras::Model& model, const std::map<std::string, Tensor>& arrays);

/// Adds a sample weight for each row, by the class of its target, like Keras's class_weight. `json` is an object of
/// numbers by class. Throws Error (usage) for other JSON, for several targets, and if there are sample weights already.
void add_class_weights(open::GivenInputs& data, const std::string& json);

/// Throws Error (bad_input) for the first label that is not a class of its loss.
void expect_labels(const keras::LossGraph& loss, const open::GivenInputs& data);

/// Throws Error (bad_input) for the first index in the data that is outside its embedding table.
void expect_indices(const graph::Graph& graph, const open::GivenInputs& data);

/// Removes the last part of the rows, as Keras splits them: int(n·(1 − share)) stay. Throws Error (usage) if one side
/// would be empty.
[[nodiscard]] open::GivenInputs split_off(open::GivenInputs& given, double share);

/// Keeps at most the first `rows` rows of every array.
void keep_rows(open::GivenInputs& data, std::int64_t rows);

/// Returns the types of the arrays that are not inputs of the model.
[[nodiscard]] std::map<std::string, graph::TensorType> target_types(const keras::Model& model,
                                                                    const open::GivenInputs& data);

/// Draws random numbers for the targets that the data lacks, by the seed and their names.
void draw_targets(const keras::LossGraph& loss, std::uint64_t seed, std::map<std::string, Tensor>& arrays);

}  // namespace attn::train
