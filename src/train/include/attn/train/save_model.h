// Writes a whole model: a preset folder of KerasHub, a Hugging Face folder, or a task's .keras.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/tensor.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/train/low_rank.h"

namespace attn::train {

enum class ModelForm : std::uint8_t { preset, hugging_face, keras };

/// Throws Error (bad_input) if something at `path` would be lost.
void check_model_target(const std::string& path, ModelForm form);

/// The default size limit of transformers for a file of weights.
inline constexpr std::int64_t kShardBytes = 5'000'000'000;

/// Writes the model with these weights, and the tokenizer of the folder or .keras file at `source`, atomically. Files
/// of weights of a Hugging Face folder have up to `shard_bytes`, or one tensor. A tokenizer that cannot be written is a
/// warning. Throws Error.
void save_model(const std::string& path, ModelForm form, const open::LoadedModel& loaded, const StoredWeights& weights,
                const std::string& source, std::int64_t shard_bytes, const open::Listener& listener);

/// Writes the weights by the extension of the path, atomically, and checks that they can be read again. A .keras
/// archive also gets the model's config, but its compile_config only together with the optimizer's `state`, which Keras
/// would miss otherwise. Throws Error.
void save_weights(const std::string& path, const open::LoadedModel& loaded, const StoredWeights& weights,
                  std::vector<NamedTensor> state);

/// Converts a tensor of floating-point numbers to this dtype; returns how many numbers became infinite.
std::int64_t round_weight(Tensor& tensor, DType dtype);

}  // namespace attn::train
