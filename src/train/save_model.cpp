#include "attn/train/save_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/atomic_folder.h"
#include "attn/io/safetensors.h"
#include "attn/io/safetensors_shards.h"
#include "attn/keras/families.h"
#include "attn/keras/json_text.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/open/reopen.h"
#include "attn/open/sentence_modules.h"
#include "attn/open/weights.h"
#include "attn/tokenizers/forms.h"
#include "attn/train/low_rank.h"
#include "attn/weights/hugging_face.h"
#include "attn/weights/keras_version.h"
#include "attn/weights/save.h"
#include "attn/weights/stats.h"

namespace attn::train {
namespace {

using nlohmann::ordered_json;

/// The release of KerasHub with which the written files agree.
constexpr const char* kKerasHubVersion = "0.32.0";

std::string text_of(const ordered_json& json) { return keras::write_json_text(json, 4); }

ordered_json dtype_policy(const char* name) {
  return {
      {"module", "keras"}, {"class_name", "DTypePolicy"}, {"config", {{"name", name}}}, {"registered_name", nullptr}};
}

/// Returns the module of a class beside another: keras_hub.src.models.gpt2.gpt2_causal_lm for gpt2_tokenizer.
std::string sibling_module(const std::string& module, const std::string& class_name) {
  return module.substr(0, module.rfind('.') + 1) + snake_case(class_name);
}

ordered_json object_of(const std::string& module, const std::string& class_name, ordered_json config) {
  return {{"module", module},
          {"class_name", class_name},
          {"config", std::move(config)},
          {"registered_name", "keras_hub>" + class_name}};
}

/// The files that KerasHub saves for a task in addition to its weights: configs, and those of the tokenizer.
struct KerasObjects {
  ordered_json root;  ///< the task, or the backbone if the model is not a task
  ordered_json backbone, preprocessor, tokenizer;
  std::vector<io::NamedBytes> assets;
};

class Objects {
 public:
  Objects(const open::LoadedModel& loaded, const std::string& source, const open::Listener& listener)
      : loaded_(loaded), source_(source), listener_(listener) {}

  KerasObjects run() {
    KerasObjects out;
    keras::ConfigOptions whole;
    whole.assets = true;
    out.root = keras::parse_json_text(loaded_.model.config(whole), "config.json");
    out.root.erase("compile_config");
    const auto task = loaded_.model.task();
    if (!task) {
      out.backbone = out.root;
      out.backbone.erase("build_config");
      return out;
    }
    out.backbone = out.root["config"]["backbone"];
    auto form = tokenizer_form();
    if (!form) return out;
    ordered_json& preprocessor = out.root["config"]["preprocessor"];
    if (preprocessor.is_null()) preprocessor = new_preprocessor(out.root, *form);
    out.preprocessor = preprocessor;
    out.tokenizer = preprocessor["config"]["tokenizer"];
    out.assets = std::move(form->assets);
    return out;
  }

 private:
  [[nodiscard]] std::optional<tokenizers::KerasForm> tokenizer_form() const {
    try {
      return tokenizers::keras_form(source_, keras::tokenizer_tables());
    } catch (const Error& error) {
      listener_.warn(fmt::format("{}; the result has no tokenizer", error.what()));
      return std::nullopt;
    }
  }

  /// Returns a preprocessor with KerasHub's defaults, also for the length to which texts are cut: a Hugging Face folder
  /// does not contain that length.
  [[nodiscard]] ordered_json new_preprocessor(const ordered_json& task, const tokenizers::KerasForm& form) const {
    const std::string module = task["module"].get<std::string>(), of_task = task["class_name"].get<std::string>();
    ordered_json tokenizer = ordered_json::parse(form.config);
    tokenizer["dtype"] = dtype_policy("int32");
    const bool generates = of_task.ends_with("CausalLM");
    const std::string class_name = of_task + "Preprocessor";
    ordered_json config = {{"name", snake_case(class_name)}, {"trainable", true}, {"dtype", dtype_policy("float32")}};
    config["tokenizer"] = object_of(sibling_module(module, form.class_name), form.class_name, std::move(tokenizer));
    config["config_file"] = "preprocessor.json";
    if (of_task.ends_with("Seq2SeqLM")) return object_of(module + "_preprocessor", class_name, std::move(config));
    config["sequence_length"] = generates ? 1024 : embedder_length().value_or(512);
    if (generates) config.update({{"add_start_token", true}, {"add_end_token", true}});
    if (!generates) config["truncate"] = "round_robin";
    return object_of(module + "_preprocessor", class_name, std::move(config));
  }

  /// Returns the length of texts that sentence-transformers states beside the model.
  [[nodiscard]] std::optional<std::int64_t> embedder_length() const {
    const auto modules = open::read_sentence_modules(source_);
    return modules ? modules->settings.sequence_length : std::nullopt;
  }

  const open::LoadedModel& loaded_;
  const std::string& source_;
  const open::Listener& listener_;
};

/// A part of a model's weights that is saved like the weights of a whole model.
struct Part {
  std::vector<graph::WeightSpec> specs;
  std::vector<Tensor> tensors;
};

void save_preset(io::AtomicFolder& folder, const open::LoadedModel& loaded, const StoredWeights& stored,
                 const KerasObjects& objects) {
  const open::WantedWeights wanted = open::wanted_weights(loaded.model);
  Part backbone, rest;
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < stored.specs.size(); ++i) {
    graph::WeightSpec spec = stored.specs[i];
    const bool of_backbone = spec.store_path.starts_with(wanted.backbone_store);
    if (of_backbone) {
      spec.store_path.erase(0, wanted.backbone_store.size());
      spec.store_again.clear();  // a head that shares it is saved without it
      parameters += spec.shape.size();
    }
    (of_backbone ? backbone : rest).specs.push_back(std::move(spec));
    (of_backbone ? backbone : rest).tensors.push_back(stored.weights[i]);
  }
  weights::save(folder.file("model.weights.h5"), backbone.specs, backbone.tensors);
  if (!rest.specs.empty()) weights::save(folder.file("task.weights.h5"), rest.specs, rest.tensors);
  folder.write("config.json", text_of(objects.backbone));
  if (loaded.model.task()) {
    ordered_json task = objects.root;
    task.erase("build_config");
    folder.write("task.json", text_of(task));
  }
  if (!objects.preprocessor.is_null()) {
    folder.write("preprocessor.json", text_of(objects.preprocessor));
    folder.write("tokenizer.json", text_of(objects.tokenizer));
    for (const io::NamedBytes& asset : objects.assets)
      folder.write("assets/tokenizer/" + asset.name, asset.bytes.text());
  }
  const std::string class_name = objects.root["class_name"].get<std::string>();
  ordered_json kinds = ordered_json::array();
  for (const char* kind : {"CausalLM", "Seq2SeqLM", "TextClassifier", "TextEmbedder", "MaskedLM", "ImageClassifier"})
    if (class_name.ends_with(kind)) kinds.push_back(kind);
  folder.write("metadata.json", text_of({{"keras_version", weights::kKerasVersion},
                                         {"keras_hub_version", kKerasHubVersion},
                                         {"parameter_count", parameters},
                                         {"date_saved", weights::date_saved()},
                                         {"tasks", kinds}}));
}

/// Writes the pooling of a TextEmbedder.
void save_sentence_modules(io::AtomicFolder& folder, const open::LoadedModel& loaded, const std::string& source) {
  const ordered_json config = keras::parse_json_text(loaded.model.config({}), "config.json")["config"];
  keras::EmbedderSettings settings{config["pooling_mode"].get<std::string>(), config["normalize"].get<bool>(), {}, {}};
  if (const auto task = loaded.model.task(); task->preprocessor)
    settings.sequence_length = task->preprocessor->sequence_length;
  else if (const auto modules = open::read_sentence_modules(source))
    settings.sequence_length = modules->settings.sequence_length;
  const ordered_json& backbone = config["backbone"]["config"];
  if (backbone.value("is_embedding_model", false))
    settings.dense_units = {backbone["pooling_intermediate_dim"].get<std::int64_t>(),
                            backbone["embedding_dim"].get<std::int64_t>()};
  const auto width = backbone["hidden_dim"].get<std::int64_t>();
  for (const auto& [name, text] : open::sentence_modules_files(settings, width)) folder.write(name, text);
}

/// Moves the weights of dense layers after the pooling ("2_Dense.linear.weight") to files of their own.
void save_dense_weights(io::AtomicFolder& folder, std::vector<NamedTensor>& arrays) {
  for (const std::string module : {"2_Dense", "3_Dense"}) {
    const std::string prefix = module + ".";
    std::vector<NamedTensor> own;
    for (const NamedTensor& array : arrays)
      if (array.name.starts_with(prefix)) own.push_back({array.name.substr(prefix.size()), array.tensor});
    if (own.empty()) continue;
    std::erase_if(arrays, [&](const NamedTensor& array) { return array.name.starts_with(prefix); });
    io::AtomicFile file(folder.file(module + "/model.safetensors"));
    io::write_safetensors(file, own);
    file.commit();
  }
}

void save_hugging_face(io::AtomicFolder& folder, const open::LoadedModel& loaded, const StoredWeights& stored,
                       const std::string& source, std::int64_t shard_bytes, const open::Listener& listener) {
  const open::WantedWeights wanted = open::wanted_weights(loaded.model);
  // Numbers of positions are integers.
  const auto first =
      std::ranges::find_if(stored.weights, [](const Tensor& weight) { return is_floating(weight.dtype()); });
  const std::string dtype = first == stored.weights.end() ? "float32" : std::string(name_of(first->dtype()));
  folder.write("config.json", loaded.model.hugging_face_config(dtype));
  const bool embeds = loaded.model.class_name().ends_with("TextEmbedder");
  if (embeds) save_sentence_modules(folder, loaded, source);
  auto arrays = weights::to_hugging_face(stored.specs, stored.weights, keras::weight_names(), wanted.backbone,
                                         !wanted.backbone_store.empty() && !embeds);
  if (embeds) save_dense_weights(folder, arrays);
  io::write_torch_shards(folder, arrays, shard_bytes);
  for (const io::NamedBytes& each : tokenizers::hugging_face_files(source)) folder.write(each.name, each.bytes.text());
  try {
    for (const io::NamedBytes& each : tokenizers::hugging_face_form(source, keras::tokenizer_tables()))
      folder.write(each.name, each.bytes.text());
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    listener.warn(fmt::format("{}; the result has no tokenizer", error.what()));
  }
}

/// Returns the config.json of an archive.
std::string archive_config(const open::LoadedModel& loaded, const std::string& path, bool trained) {
  if (loaded.model.is_single_layer())
    throw bad_input("{}: a .keras archive contains a model, but '{}' is a single layer", printable(path), loaded.name);
  keras::ConfigOptions options;
  options.inner_policies = true;
  options.assets = true;
  std::string config = loaded.model.config(options);
  if (trained) return config;
  ordered_json json = keras::parse_json_text(config, "config.json");
  json.erase("compile_config");
  return keras::write_json_text(json);
}

}  // namespace

void check_model_target(const std::string& path, ModelForm form) {
  if (form != ModelForm::keras) return io::check_folder_target(path);
  if (!weights::holds_config(path)) throw bad_usage("{}: the file's name must end in .keras", printable(path));
}

void save_model(const std::string& path, ModelForm form, const open::LoadedModel& loaded, const StoredWeights& stored,
                const std::string& source, std::int64_t shard_bytes, const open::Listener& listener) {
  if (form == ModelForm::hugging_face) {
    io::AtomicFolder folder(path);
    save_hugging_face(folder, loaded, stored, source, shard_bytes, listener);
    open::check_reopens(path, folder.hidden_path());
    return folder.commit();
  }
  KerasObjects objects = Objects(loaded, source, listener).run();
  if (form == ModelForm::preset) {
    io::AtomicFolder folder(path);
    save_preset(folder, loaded, stored, objects);
    open::check_reopens(path, folder.hidden_path());
    return folder.commit();
  }
  weights::SavedModel model;
  model.config = keras::write_json_text(objects.root);
  model.state = loaded.model.kept_arrays();
  for (io::NamedBytes& asset : objects.assets)
    model.assets.push_back({"assets/preprocessor/tokenizer/" + asset.name, std::move(asset.bytes)});
  model.check = open::reopens(path, stored.specs);
  weights::save(path, stored.specs, stored.weights, model);
}

void save_weights(const std::string& path, const open::LoadedModel& loaded, const StoredWeights& stored,
                  std::vector<NamedTensor> state) {
  const bool trained =
      std::ranges::any_of(state, [](const NamedTensor& array) { return array.name.starts_with("optimizer/"); });
  weights::SavedModel model;
  if (weights::holds_config(path)) model.config = archive_config(loaded, path, trained);
  model.state = std::move(state);
  for (NamedTensor& array : loaded.model.kept_arrays()) model.state.push_back(std::move(array));
  model.check = open::reopens(path, stored.specs);
  weights::save(path, stored.specs, stored.weights, model);
}

std::int64_t round_weight(Tensor& tensor, DType dtype) {
  if (!is_floating(tensor.dtype()) || tensor.dtype() == dtype) return 0;
  const std::int64_t infinite = weights::stats_of(tensor).inf_count;
  tensor = tensor.cast(dtype);
  return weights::stats_of(tensor).inf_count - infinite;
}

}  // namespace attn::train
