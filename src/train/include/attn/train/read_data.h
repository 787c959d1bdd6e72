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

/// Arrays from files (.npz, .npy, .safetensors) by name: the model's inputs, targets "y" ("target" is another name) or
/// "y:<output>", and weights "sample_weight" or "sample_weight:<output>". All have as many rows. Of NAME=FILE the
/// file's one array, or that of the name, is the array NAME. Of a text (.txt) the bytes are the one input, in rows of
/// the model's length, one behind the other, and each target is the byte behind. A table (.csv) is read as
/// table_arrays() says. An array that several files have is one: the rows of each behind those of the file before,
/// copied. Throws Error (bad_input) for an array of another name, of other rows than in the file before, or of another
/// number of rows than the others.
[[nodiscard]] open::GivenInputs read_data(const keras::Model& model, const std::vector<std::string>& files,
                                          const DataReading& reading = {});

/// A sample weight for each row, by the class of its target, as Keras's class_weight. `json` is an object of numbers by
/// class. Throws Error (usage) where it is none, and where there are sample weights already, or several targets.
void add_class_weights(open::GivenInputs& data, const std::string& json);

/// Throws Error (bad_input) for the first label that is none of its loss's classes.
void expect_labels(const keras::LossGraph& loss, const open::GivenInputs& data);

/// Throws Error (bad_input) for the first index of the data that is outside a table it is looked up in.
void expect_indices(const graph::Graph& graph, const open::GivenInputs& data);

/// Takes the last part of the rows off, as Keras splits them: int(n·(1 − share)) stay. Throws Error (usage) where one
/// side would have none.
[[nodiscard]] open::GivenInputs split_off(open::GivenInputs& given, double share);

/// The first rows of every array, where there are more.
void keep_rows(open::GivenInputs& data, std::int64_t rows);

/// The types of those that are no inputs of the model.
[[nodiscard]] std::map<std::string, graph::TensorType> target_types(const keras::Model& model,
                                                                    const open::GivenInputs& data);

/// Random numbers for the targets that the data lacks, by the seed and their names.
void draw_targets(const keras::LossGraph& loss, std::uint64_t seed, std::map<std::string, Tensor>& arrays);

}  // namespace attn::train
