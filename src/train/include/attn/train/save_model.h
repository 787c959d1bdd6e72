// Writes a whole model: a preset folder of KerasHub, a Hugging Face folder, or a task's .keras.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace attn::train
