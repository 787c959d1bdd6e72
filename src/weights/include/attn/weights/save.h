// Writes a model's weights.
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

/// The contents of a model file besides the weights.
struct SavedModel {
  std::string config;                       ///< Keras JSON, for .keras; empty if there is none
  std::vector<NamedTensor> state = {};      ///< optimizer state and similar, by store path, for .keras and .weights.h5
  std::vector<io::NamedBytes> assets = {};  ///< files of layers, for .keras
  std::string training = {};                ///< the position of a training, for .keras (io::KerasArchive::training)
  /// Called with the path of the file that was written, before it is renamed to its target; if it throws, no file is
  /// left.
  std::function<void(const std::string& written)> check = {};
};

/// Returns the date in Keras's files: now, or SOURCE_DATE_EPOCH for reproducible builds.
[[nodiscard]] std::string date_saved();

/// Throws Error (usage) if the path has an unsupported extension, so that a command can report it early. `others` are
/// further extensions of the command, as text of the message: ", .onnx".
void check_save_path(const std::string& path, std::string_view others = {});
/// Returns whether files with the path's extension also hold the model's config (.keras).
[[nodiscard]] bool holds_config(const std::string& path);
/// Returns whether files with the path's extension identify weights by their position in a model (.weights.h5, .keras,
/// .h5), so that names are not enough.
[[nodiscard]] bool needs_layout(const std::string& path);

/// Writes .weights.h5, .keras, .h5, .safetensors or .npz by the path's extension, atomically. There is one tensor for
/// each spec. Keras's load_weights reads the first three, load_model the second. Arrays in the others are named by
/// file_names. NumPy has no bfloat16, and Keras reads none from .h5: both get float32, which is exact. Throws Error
/// (usage) for another extension, and Error (bad_input) if the file cannot be written.
void save(const std::string& path, std::span<const graph::WeightSpec> specs, std::span<const Tensor> tensors,
          const SavedModel& model = {});

}  // namespace attn::weights
