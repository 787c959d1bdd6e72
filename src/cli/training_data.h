// The arrays that a model is trained on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/model.h"
#include "forward.h"

namespace attn::cli {

/// Arrays from files (.npz, .npy, .safetensors) by name: the model's inputs, targets "y" ("target" is another name) or
/// "y:<output>", and weights "sample_weight" or "sample_weight:<output>". All have as many rows. Throws Error
/// (bad_input) for an array of another name, and (usage) for one that is given twice.
[[nodiscard]] GivenInputs read_training_data(const keras::Model& model, const std::vector<std::string>& files);

/// The first rows of every array, where there are more.
void keep_rows(GivenInputs& data, std::int64_t rows);

/// The types of those that are no inputs of the model.
[[nodiscard]] std::map<std::string, graph::TensorType> target_types(const keras::Model& model, const GivenInputs& data);

/// Random numbers for the targets that the data lacks, by the seed and their names.
void draw_targets(const keras::LossGraph& loss, std::uint64_t seed, std::map<std::string, Tensor>& arrays);

}  // namespace attn::cli
