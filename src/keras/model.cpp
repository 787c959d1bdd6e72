#include "attn/keras/model.h"

#include <algorithm>
#include <map>

#include "analysis/keras3_masks.h"
#include "analysis/parts.h"
#include "analysis/validation.h"
#include "archive_config.h"
#include "attn/base/text.h"
#include "attn/keras/json_text.h"
#include "attn/keras/optimizer.h"
#include "attn/optimizers/state_size.h"
#include "classes/class_table.h"
#include "classes/custom_layer.h"
#include "classes/reading.h"
#include "families/blocks/layer_classes.h"
#include "frontends/builtin_encoder.h"
#include "frontends/hugging_face/write_config.h"
#include "frontends/read_model.h"
#include "model/autoregressive.h"
#include "model/compares.h"
#include "model/lower.h"
#include "model/multimodal.h"
#include "model/names.h"
#include "model/policies.h"
#include "model/sized_inputs.h"
#include "model/summarize.h"
#include "model/tasks/task.h"
#include "model/trace_masks.h"
#include "model/variables.h"
#include "training/lower_loss.h"

namespace attn::keras {

struct Model::Parts {
  ReadModel read;
  std::map<std::int64_t, std::unique_ptr<Model>> resized;  // for a short config, by length

  [[nodiscard]] Functional* model() const { return read.model(); }
  [[nodiscard]] Layer& root() const { return *read.root; }
};

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::string& Model::builtin_encoder() {
  static const std::string text = kBuiltinEncoder;
  return text;
}

Model Model::read(const std::string& source, std::string text, const ReadOptions& options) {
  ReadModel read = read_model(source, std::move(text), options, nullptr);
  if (auto difference = keras3_mask_difference(read)) read.warnings.push_back(std::move(*difference));
  return Model(std::make_unique<Parts>(Parts{std::move(read), {}}));
}

std::vector<Problem> Model::validate(const std::string& source, std::string text, const ReadOptions& options) {
  return keras::validate(source, std::move(text), options);
}

std::vector<std::string> Model::layer_classes() {
  const std::vector<std::string_view> names = keras::layer_classes().names();
  return {names.begin(), names.end()};
}

Model Model::make_layer(const std::string& class_name,
                        const std::vector<std::pair<std::string, std::string>>& arguments) {
  return Model(std::make_unique<Parts>(Parts{read_layer_call(class_name, arguments), {}}));
}

const std::string& Model::name() const { return parts_->root().name; }
std::string Model::class_name() const { return std::string(parts_->root().class_name()); }
bool Model::is_single_layer() const { return parts_->read.single != nullptr; }
const std::vector<std::string>& Model::warnings() const { return parts_->read.warnings; }

std::vector<std::string> Model::layer_names() const {
  const Functional* model = parts_->model();
  return model == nullptr ? std::vector<std::string>() : keras::layer_names(*model);
}

std::vector<std::string> Model::input_names() const {
  std::vector<std::string> names;
  if (const Functional* model = parts_->model())
    for (const Layer* layer : model->input_layers()) names.push_back(layer->name);
  return names;
}

std::vector<TextInput> Model::text_inputs() const {
  const Functional* model = parts_->model();
  return model == nullptr || !model->connected ? std::vector<TextInput>() : keras::text_inputs(*model);
}

std::vector<TextStage> Model::text_stages() const {
  Functional* model = parts_->model();
  return model == nullptr || !model->connected ? std::vector<TextStage>() : keras::text_stages(*model);
}

std::vector<TextOutput> Model::text_outputs() const {
  Functional* model = parts_->model();
  return model == nullptr || !model->connected ? std::vector<TextOutput>() : keras::text_outputs(*model);
}

std::vector<std::string> Model::array_names() const {
  std::vector<std::string> names = input_names();
  for (const TextInput& input : text_inputs()) std::erase(names, input.name);
  for (const TextStage& stage : text_stages()) names.push_back(stage.name);
  return names;
}

std::vector<NamedTensor> Model::kept_arrays() const {
  std::vector<NamedTensor> out;
  visit_places(parts_->root(), [&](Layer& layer, const std::string& store) {
    for (NamedTensor& array : layer.kept_arrays())
      for (const char* inside : {"", "_lookup_layer/"}) {
        const bool wraps = layer.info->name == "TextVectorization";
        if (*inside != '\0' && !wraps) continue;
        out.push_back({store + inside + "vars/" + array.name, array.tensor});
      }
  });
  return out;
}

std::optional<std::string> Model::first_attention() const {
  const Functional* model = parts_->model();
  if (model == nullptr) return std::nullopt;
  for (const std::string& name : layer_names())
    if (is_attention(find_layer(*model, name)->info->role)) return name;
  return std::nullopt;
}

namespace {

/// Adds the variables of the optimizer that Keras builds from a compile_config.
void add_optimizer(Summary& out, const std::string& compile_config, const std::vector<graph::WeightSpec>& weights) {
  if (parse_json_text(compile_config, "compile_config").value("optimizer", Json()).is_null()) return;
  std::vector<optimizers::Variable> variables;
  for (const graph::WeightSpec& spec : weights)
    if (spec.trainable) variables.push_back({spec.path, spec.shape, std::nullopt, spec.dtype});
  try {
    const optimizers::StateSize size = optimizers::state_size(compiled_optimizer(compile_config), variables);
    out.optimizer = {size.elements, size.bytes};
  } catch (const Error&) {
    out.unknown_optimizer = true;
  }
}

}  // namespace

Summary Model::summary() const {
  Functional* model = parts_->model();
  if (model == nullptr && as_custom(parts_->root()) != nullptr) return summarize_custom(parts_->root());
  if (model == nullptr) parts_->root().fail("one layer without an input shape", "input_shape");
  Summary out = summarize(*model);
  if (std::optional<TaskInfo> info = task()) {
    // Tasks have their own compile(), so Keras does not build the optimizer of a task that it loads.
    out.preprocessor = std::move(info->preprocessor);
    return out;
  }
  if (const auto compiled = compile_config(); compiled && !out.unknown_params) add_optimizer(out, *compiled, weights());
  return out;
}

std::vector<std::string> Model::custom_classes() const {
  std::vector<std::string> out;
  visit_layers(parts_->root(), [&](const Layer& layer) {
    const std::string name(layer.class_name());
    if (as_custom(layer) != nullptr && std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  });
  return out;
}

void Model::take_stored(std::span<const StoredWeight> stored) {
  std::vector<bool> taken(stored.size());
  visit_places(parts_->root(), [&](Layer& layer, const std::string& store) {
    if ((layer.built && as_custom(layer) == nullptr) || layer.is_model() || layer.is_operation()) return;
    layer.built = true;  // it was built when it was saved
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (taken[i] || !stored[i].place.starts_with(store)) continue;
      taken[i] = true;
      graph::WeightSpec spec;
      spec.store_path = stored[i].place.substr(store.size());
      spec.path = spec.store_path;
      // "att/query_dense/vars/0" is variable 0 of att/query_dense.
      if (const auto vars = spec.path.rfind("vars/"); vars != std::string::npos) spec.path.erase(vars, 5);
      spec.shape = stored[i].shape;
      spec.dtype = stored[i].dtype;
      spec.trainable = layer.trainable;
      layer.weights.push_back(std::move(spec));
    }
  });
}

void Model::take_stored(std::span<const StoredLayer> stored) {
  const Functional* const model = parts_->model();
  if (model == nullptr) return;
  for (Layer* member : model->layers()) {
    const auto found = std::ranges::find(stored, member->name, &StoredLayer::name);
    if (found == stored.end()) continue;
    visit_layers(*member, [&](Layer& layer) {
      if ((layer.built && as_custom(layer) == nullptr) || layer.is_model() || layer.is_operation()) return;
      layer.built = true;  // it was built when it was saved
      for (const StoredWeight& weight : found->weights) {
        const std::string inside = layer.name + "/";
        const bool named = weight.place.starts_with(inside);
        if (&layer != member && !named) continue;
        graph::WeightSpec spec;
        spec.path = named ? weight.place.substr(inside.size()) : weight.place;
        spec.shape = weight.shape;
        spec.dtype = weight.dtype;
        spec.trainable = layer.trainable;
        layer.weights.push_back(std::move(spec));
      }
    });
  }
}

bool Model::has_unknown_params() const {
  bool unknown = false;
  visit_layers(parts_->root(), [&](const Layer& layer) { unknown |= as_custom(layer) != nullptr && !layer.built; });
  return unknown;
}

void Model::require_no_custom_class() const { refuse_custom(parts_->root()); }

std::optional<TaskInfo> Model::task() const {
  auto* task = dynamic_cast<Task*>(parts_->model());
  return task == nullptr ? std::nullopt : std::optional(task->task_info());
}

bool Model::decodes() const { return dynamic_cast<Autoregressive*>(parts_->model()) != nullptr; }

std::vector<MediaPrompt> Model::media_prompts() const {
  const auto* multimodal = dynamic_cast<const Multimodal*>(parts_->model());
  return multimodal == nullptr ? std::vector<MediaPrompt>() : multimodal->media_prompts();
}

std::optional<ArrayFault> Model::array_fault(const std::map<std::string, Tensor>& arrays) const {
  const auto* sized = dynamic_cast<const SizedInputs*>(parts_->model());
  return sized == nullptr ? std::nullopt : sized->array_fault(arrays);
}

std::optional<ImageTexts> Model::image_texts() const {
  const auto* compares = dynamic_cast<Compares*>(parts_->model());
  return compares == nullptr ? std::nullopt : std::optional(compares->image_texts());
}

std::optional<std::int64_t> Model::most_positions() const { return keras::most_positions(parts_->root()); }

MaskTrace Model::masks() const {
  Functional* model = parts_->model();
  if (model == nullptr || !model->connected)
    parts_->root().fail("nothing is called without an input shape", "input_shape");
  return trace_masks(*model);
}

std::vector<graph::WeightSpec> Model::weights() const {
  std::vector<graph::WeightSpec> specs = variables_of(parts_->root());
  if (!parts_->read.older_fans) return specs;
  for (graph::WeightSpec& spec : specs) {
    spec.initializer.input_axes.clear();
    spec.initializer.output_axes.clear();
  }
  return specs;
}

bool Model::takes_length(std::int64_t length) const {
  const Functional* model = parts_->model();
  return model == nullptr || keras::takes_length(*model, length);
}

bool Model::reaches_length(std::int64_t length) const { return takes_length(length) || resized(length) != nullptr; }

const Model* Model::resized(std::int64_t length) const {
  if (!parts_->read.from_encoder_config) return nullptr;
  std::unique_ptr<Model>& kept = parts_->resized[length];
  if (!kept) {
    Json other = Ref(*parts_->read.document).json();
    if (other.contains("input_shape")) {
      other["input_shape"][0] = length;
    } else {
      other["sequence_length"] = length;
    }
    kept = std::make_unique<Model>(read(parts_->read.document->source(), to_json_text(other)));
  }
  // A model with trained positions has a fixed maximum.
  const std::vector<graph::WeightSpec> mine = weights(), theirs = kept->weights();
  const bool same = std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                               [](const auto& a, const auto& b) { return a.shape == b.shape; });
  return same ? kept.get() : nullptr;
}

graph::Graph Model::lower(const LowerOptions& options) const { return anatomy(options).graph; }

Anatomy Model::anatomy(const LowerOptions& options) const {
  Functional* model = parts_->model();
  if (!options.symbolic && !options.open_custom) require_no_custom_class();
  if (const CustomLayer* custom = as_custom(parts_->root())) custom->refuse();
  if (model == nullptr) parts_->root().fail("one layer without an input shape cannot run", "input_shape");
  if (!model->connected) model->fail("the model has no input shape", "input_shape");
  if (options.sequence_length && !options.symbolic && !options.decode && !takes_length(*options.sequence_length)) {
    if (const Model* other = resized(*options.sequence_length)) {
      LowerOptions others = options;
      others.sequence_length.reset();
      return other->anatomy(others);
    }
  }
  Anatomy out;
  ModelLowering lowering(out.graph, options.symbolic);
  keras::lower(*model, options, lowering);
  out.parts = parts_of(*model, lowering);
  return out;
}

LossGraph Model::lower_loss(const LowerOptions& options, const LossOptions& loss) const {
  require_no_custom_class();
  Functional* model = parts_->model();
  if (model == nullptr) parts_->root().fail("one layer without an input shape cannot run", "input_shape");
  if (!model->connected) model->fail("the model has no input shape", "input_shape");
  if (options.sequence_length && !takes_length(*options.sequence_length)) {
    if (const Model* other = resized(*options.sequence_length)) {
      LowerOptions others = options;
      others.sequence_length.reset();
      return other->lower_loss(others, loss);
    }
  }
  return keras::lower_loss(*model, options, loss);
}

void Model::freeze(const std::vector<std::string>& layers) {
  Functional* const model = parts_->model();
  for (const std::string& name : layers) {
    Layer* const found = model == nullptr ? nullptr : find_layer(*model, name);
    if (found == nullptr) throw bad_usage("there is no layer '{}'", printable(name));
    visit_layers(*found, [](Layer& layer) {
      layer.trainable = false;
      for (graph::WeightSpec& spec : layer.weights) spec.trainable = false;
    });
  }
}

std::optional<std::string> Model::compile_config() const {
  const Json config = parts_->root().envelope.value("compile_config", Json());
  if (!config.is_object() || config.empty()) return std::nullopt;
  return to_json_text(config);
}

std::string Model::config(const ConfigOptions& options) const {
  if (options.inner_policies) state_policies(parts_->root());
  if (options.assets) visit_layers(parts_->root(), [](Layer& each) { each.state_assets(); });
  Layer* layer = parts_->read.single != nullptr ? parts_->read.single : parts_->read.root.get();
  if (options.layer) {
    Functional* model = parts_->model();
    Layer* found = model == nullptr ? nullptr : find_layer(*model, *options.layer);
    if (found == nullptr && layer->name == *options.layer) found = layer;
    if (found == nullptr)
      throw bad_usage("there is no layer '{}'{}", printable(*options.layer),
                      did_you_mean(*options.layer, std::span<const std::string>(layer_names())));
    layer = found;
  }
  const bool python = options.format == ConfigFormat::python;
  Json json = python ? layer_config(*layer, options.version) : layer_json(*layer, options.version);
  if (!options.assets) remove_shared_ids(json);
  if (options.assets && parts_->read.file().is_keras2()) rename_like_mask_operations(json);
  if (python) return to_python_text(json);
  if (options.layer || is_single_layer()) {
    // A single layer has no calls.
    json.erase("name");
    json.erase("inbound_nodes");
  }
  return to_json_text(json, options.indent);
}

std::string Model::hugging_face_config(const std::string& dtype) const {
  Functional* const model = parts_->model();
  if (model == nullptr || is_single_layer()) throw bad_input("a single layer is not a transformers model");
  return keras::hugging_face_config(*model, dtype);
}

}  // namespace attn::keras
