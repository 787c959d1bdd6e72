#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "attn/attn.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/optimizer.h"
#include "attn/open/arrays.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/train/archive.h"
#include "attn/train/compile_changes.h"
#include "attn/train/low_rank.h"
#include "attn/train/save_model.h"
#include "attn/weights/bind.h"
#include "attn/weights/file_names.h"
#include "attn/weights/save.h"
#include "model_parts.h"

namespace attn {
namespace {

/// Returns options for a config that is complete without the files beside it.
keras::ConfigOptions whole_config() {
  keras::ConfigOptions out;
  out.inner_policies = true;
  out.assets = true;
  return out;
}

train::ModelForm form_named(const std::string& name) {
  if (name == "preset") return train::ModelForm::preset;
  if (name == "hf") return train::ModelForm::hugging_face;
  if (name == "keras") return train::ModelForm::keras;
  throw bad_usage("form '{}': expected preset, hf or keras", printable(name)).about("form");
}

DType stored_dtype(const std::string& name) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
    if (name_of(dtype) == name) return dtype;
  throw bad_usage("dtype '{}': expected float32, float16 or bfloat16", printable(name)).about("dtype");
}

/// Throws Error (bad_input) if a number is too large for the dtype.
void round_weights(std::vector<Tensor>& tensors, const std::string& dtype) {
  const DType stored = stored_dtype(dtype);
  std::int64_t overflown = 0;
  for (Tensor& tensor : tensors) overflown += train::round_weight(tensor, stored);
  if (overflown > 0) throw bad_input("{} numbers are too large for {}", with_commas(overflown), dtype).about("dtype");
}

}  // namespace

std::vector<std::string> Model::weight_names() const {
  const std::lock_guard lock(parts_->walked);
  return weights::file_names(parts_->loaded.model.weights());
}

std::vector<NamedTensor> Model::weights(const RunOptions& options) const {
  const std::lock_guard lock(parts_->walked);
  const std::vector<std::string> names = weights::file_names(parts_->loaded.model.weights());
  std::vector<Tensor> tensors = open::load_weights(parts_->loaded, execution_of(options), open::kSilent);
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < names.size(); ++i) out.push_back({names[i], std::move(tensors[i])});
  return out;
}

Model Model::with_weights(const std::vector<NamedTensor>& weights) const {
  weights::Store given;
  given.file = "the weights";
  given.weights = weights;
  const std::lock_guard lock(parts_->walked);
  const open::LoadedModel& loaded = parts_->loaded;
  loaded.model.require_no_custom_class();
  const std::vector<graph::WeightSpec> specs = loaded.model.weights();
  const std::vector<NamedTensor> state = train::stored_variables(train::optimizer_state_of(loaded));
  open::ModelText text = parts_->source;
  text.arrays = open::stored_arrays(specs, weights::bind(specs, given), state);
  return Model(std::make_unique<Parts>(std::move(text), parts_->path));
}

Model Model::compiled(const std::string& compile_config, const RunOptions& options) const {
  const std::lock_guard lock(parts_->walked);
  const open::LoadedModel& loaded = parts_->loaded;
  train::CompileChanges changes;
  changes.config = compile_config;
  const std::string whole = train::compile_config(loaded.model, changes);
  (void)keras::compiled_optimizer(whole);
  auto arrays =
      open::stored_arrays(loaded.model.weights(), open::load_weights(loaded, execution_of(options), open::kSilent));
  std::string config = train::trained_config(loaded, whole, whole_config());
  return Model(
      std::make_unique<Parts>(open::in_memory(parts_->source, std::move(config), std::move(arrays)), parts_->path));
}

Model Model::quantized(const std::string& how, const RunOptions& options) const {
  if (!open::is_quantization(how))
    throw bad_usage("quantize '{}': expected int8, int4, or int4 with a block as in int4:64", printable(how))
        .about("quantize");
  open::ReadingOptions reading = reading_of(parts_->source);
  reading.quantize = how;
  const open::LoadedModel loaded = open::load_model(parts_->source, reading, open::kSilent);
  auto arrays =
      open::stored_arrays(loaded.model.weights(), open::load_weights(loaded, execution_of(options), open::kSilent));
  return Model(std::make_unique<Parts>(
      open::in_memory(parts_->source, loaded.model.config(whole_config()), std::move(arrays)), parts_->path));
}

void Model::save(const std::string& path, const SaveOptions& how, const RunOptions& options) const {
  const std::lock_guard lock(parts_->walked);
  const open::LoadedModel& loaded = parts_->loaded;
  const train::ModelForm form = how.form ? form_named(*how.form) : train::ModelForm::keras;
  if (how.form)
    train::check_model_target(path, form);
  else
    weights::check_save_path(path);
  weights::Store store = open::stored_weights_of(loaded, execution_of(options), open::kSilent);
  const std::vector<graph::WeightSpec> specs = loaded.model.weights();
  std::vector<Tensor> tensors = weights::bind_as_stored(specs, store);
  if (how.dtype) round_weights(tensors, *how.dtype);
  const train::StoredWeights stored = train::stored_weights(specs, tensors, loaded.model);
  if (how.form)
    return train::save_model(path, form, loaded, stored, parts_->path.value_or(""), train::kShardBytes, open::kSilent);
  // Only .weights.h5 has names of optimizer variables that other files can use.
  const bool keeps_state = store.naming == weights::Naming::store_path;
  train::save_weights(path, loaded, stored, keeps_state ? std::move(store.state) : std::vector<NamedTensor>());
}

}  // namespace attn
