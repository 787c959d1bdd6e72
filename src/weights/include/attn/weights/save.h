// Writing a model's weights.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/weight.h"
#include "attn/io/keras_archive.h"

namespace attn::weights {

/// What only a model file has beside the weights.
struct SavedModel {
  std::string config;                       ///< Keras JSON, for .keras; empty where there is none
  std::vector<NamedTensor> state = {};      ///< of optimizers and the like, by place, for .keras and .weights.h5
  std::vector<io::NamedBytes> assets = {};  ///< for .keras
  std::string training = {};                ///< where a training stands, for .keras (io::KerasArchive::training)
  /// Gets the path of the file that was written, before it takes its name; where it throws, nothing is there.
  std::function<void(const std::string& written)> check = {};
};

/// The time that Keras's files say they were saved: now, or SOURCE_DATE_EPOCH, by which builds are made repeatable.
[[nodiscard]] std::string date_saved();

/// Throws Error (usage) where the path ends in nothing that save knows, so that a command can say so at once. `others`
/// are endings that the command knows besides, as the sentence lists them: ", .onnx".
void check_save_path(const std::string& path, std::string_view others = {});
/// Does a path's ending stand for a file that holds the model's config too (.keras)?
[[nodiscard]] bool holds_config(const std::string& path);
/// Does it stand for one that keeps weights by their places in a model (.weights.h5, .keras, .h5), so that names alone
/// do not do?
[[nodiscard]] bool needs_layout(const std::string& path);

/// Writes .weights.h5, .keras, .h5, .safetensors or .npz by the path's ending, whole or not at all. There is one tensor
/// for each spec. Keras's load_weights reads the first three, load_model the second. In the others arrays are named by
/// file_names. NumPy has no bfloat16, and Keras reads none from .h5: both get float32, which is exact. Throws Error
/// (usage) for another ending, and (bad_input) where the file cannot be written.
void save(const std::string& path, std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors,
          const SavedModel& model = {});

}  // namespace attn::weights
