#include "attn/keras/model.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "anatomy.h"
#include "attn/base/text.h"
#include "builtin_encoder.h"
#include "encoder_config.h"
#include "functional.h"
#include "keras2/histories.h"
#include "keras2/translate.h"
#include "lowering.h"
#include "mask_recorder.h"
#include "surprises.h"
#include "table.h"

namespace attn::keras {

struct Model::Parts {
  std::unique_ptr<Document> document;
  std::unique_ptr<Document> expanded;  // what a short config or one of Keras 2 became
  LayerPtr root;
  bool from_encoder_config = false;
  bool single_layer = false;  // root is a layer, or a model made around `layer` to show it
  Layer* layer = nullptr;     // the single layer
  std::vector<std::string> warnings;
  /// Kernels of einsum layers were drawn by the rule of any kernel.
  bool older_fans = false;
  std::map<std::int64_t, std::unique_ptr<Model>> resized;  // by length, of a short config

  [[nodiscard]] Functional* model() const { return dynamic_cast<Functional*>(root.get()); }
};

namespace {

/// Visits a layer and all below it, each once, with the prefixes of its variables.
template <typename Visit>
void walk(Layer& layer, const std::string& path, const std::string& store, std::set<const Layer*>& seen,
          Visit&& visit) {
  if (!seen.insert(&layer).second) return;
  visit(layer, path, store);
  for (const Layer::Sublayer& sub : layer.sublayers())
    walk(*sub.layer, sub.detached ? sub.path : path + sub.path, store + sub.store, seen, visit);
}

/// Visits all variables below a layer in Keras's order: the layer that declares it, its index there, what its two names
/// begin with, and the other name in .weights.h5 of what two layers hold.
template <typename Visit>
void visit_variables(Layer& root, Visit&& visit) {
  std::set<const Layer*> seen;
  std::set<std::pair<const Layer*, int>> borrowed;
  walk(root, is_functional(&root) ? "" : root.name + "/", "", seen,
       [&](Layer& layer, const std::string& path, const std::string& store) {
         if (const auto index = layer.borrowed_weight()) {
           const Layer::Sublayer owner = layer.sublayers().front();
           if (!seen.contains(owner.layer) && borrowed.emplace(owner.layer, *index).second)
             visit(*owner.layer, *index, owner.detached ? owner.path : path + owner.path, store + owner.store,
                   store + "vars/0");
         }
         for (int i = 0; i < static_cast<int>(layer.weights.size()); ++i)
           if (!borrowed.contains({&layer, i})) visit(layer, i, path, store, "");
       });
}

/// The same with the spec under its full names.
template <typename Visit>
void visit_weights(Layer& root, Visit&& visit) {
  visit_variables(root, [&](const Layer& layer, int index, const std::string& path, const std::string& store,
                            std::string store_again) {
    graph::WeightSpec spec = layer.weights[static_cast<std::size_t>(index)];
    spec.path = path + spec.path;
    spec.store_path = store + spec.store_path;
    spec.store_again = std::move(store_again);
    visit(layer, index, std::move(spec));
  });
}

/// Bytes of the names of a layer and all below it, each with those of the layers around it.
std::size_t full_name_bytes(Layer& layer, std::size_t around) {
  const std::size_t own = around + layer.name.size();
  std::size_t bytes = own;
  for (const Layer::Sublayer& sub : layer.sublayers()) bytes += full_name_bytes(*sub.layer, own + 1);
  return bytes;
}

/// Sequential.from_config leaves the flag of a frozen Sequential behind; its layers keep theirs.
bool is_trainable(const Layer& layer) { return layer.trainable || dynamic_cast<const Sequential*>(&layer) != nullptr; }

struct Totals {
  bool any = false;  // variables, be they empty
  Count params = 0, trainable = 0, bytes = 0, trainable_bytes = 0;
};

Totals totals_of(Layer& layer) {
  Totals totals;
  const bool trainable = is_trainable(layer);
  visit_variables(layer, [&](const Layer& owner, int index, const auto&, const auto&, const auto&) {
    const graph::WeightSpec& spec = owner.weights[static_cast<std::size_t>(index)];
    totals.any = true;
    const Count elements = spec.shape.count();
    const Count bytes = elements * static_cast<Count>(bytes_of(spec.dtype));
    totals.params += elements;
    totals.bytes += bytes;
    // A frozen layer freezes its own variables only; what is inside it keeps its own flag. Asked for its trainable
    // variables, it answers that it has none (keras/src/layers/layer.py, trainable_variables).
    if (spec.trainable && trainable) {
      totals.trainable += elements;
      totals.trainable_bytes += bytes;
    }
  });
  return totals;
}

/// As summary_utils.format_layer_shape: one dimension has no comma, unlike Python's tuple.
std::string shape_text(const Shape& shape) {
  std::vector<std::string> dims;
  for (const Dim dim : shape) dims.push_back(dim == kUnknown ? "None" : std::to_string(dim));
  return "(" + join(dims, ", ") + ")";
}

SummaryRow row_of(Layer& layer, int level, const Functional* around) {
  SummaryRow row;
  row.name = layer.name;
  row.class_name = layer.class_name();
  row.level = level;
  row.built = layer.is_operation() || layer.built;
  const Totals totals = totals_of(layer);
  row.params = totals.params;
  row.trainable_params = totals.trainable;
  if (totals.any) row.trainable = is_trainable(layer);
  row.output_shape_text = "?";
  if (!layer.node_shapes.empty()) {
    row.output_shapes = layer.node_shapes.back();
    std::vector<std::string> shapes;
    for (const Shape& shape : row.output_shapes) shapes.push_back(shape_text(shape));
    row.output_shape_text = shapes.size() == 1 ? shapes.front() : "[" + join(shapes, ", ") + "]";
  }
  if (around != nullptr) row.connected_to = around->connections(layer);
  return row;
}

void add_nested_rows(const Layer& model, int level, std::vector<SummaryRow>& rows) {
  for (Layer* layer : model.layers()) {
    rows.push_back(row_of(*layer, level, nullptr));
    add_nested_rows(*layer, level + 1, rows);
  }
}

void add_names(const Functional& model, const std::string& prefix, std::vector<std::string>& out) {
  const bool sequential = dynamic_cast<const Sequential*>(&model) != nullptr;
  const auto members = sequential ? model.layers() : model.operations();
  for (const Layer* layer : members) out.push_back(prefix + layer->name);
  for (const Layer* layer : members)
    if (const auto* nested = dynamic_cast<const Functional*>(layer))
      add_names(*nested, prefix + layer->name + "/", out);
}

/// The layer called "dense" or "block/dense".
Layer* find_layer(Functional& model, std::string_view name) {
  if (Layer* found = model.find(name)) return found;
  for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    auto* nested = dynamic_cast<Functional*>(model.find(name.substr(0, slash)));
    if (nested != nullptr)
      if (Layer* found = find_layer(*nested, name.substr(slash + 1))) return found;
  }
  return nullptr;
}

/// A functional model `Input → layer` that builds a single layer and shows it.
std::unique_ptr<Functional> model_around(LayerPtr layer, const Shape& input_shape) {
  auto model = std::make_unique<Functional>();
  model->row = find_row("Functional");
  model->name = "functional";
  auto input = std::make_unique<InputLayer>();
  input->row = find_row("InputLayer");
  input->name = layer->name == "input_layer" ? "input" : "input_layer";
  input->batch_shape = Shape{kUnknown};
  input->batch_shape.append(input_shape);
  for (const char* tokens : {"Embedding", "ReversibleEmbedding", "TokenAndPositionEmbedding"})
    if (layer->class_name() == tokens) input->dtype = "int32";

  // What stands for the argument of each kind of call: x, (x, x), or [x, x].
  const TensorRef x{input->name, 0, 0};
  const std::string_view first = layer->arguments().front();
  Arg args = ArgList{Arg(x)};
  if (first == "query") args = ArgList{Arg(x), Arg(x)};
  if (layer->takes_list()) args = ArgList{Arg(ArgList{Arg(x), Arg(x)})};
  layer->nodes = {NodeSpec{std::move(args), ArgDict{}, layer->pointer}};

  const auto as_json = [](const TensorRef& ref) { return Json::array({ref.layer, ref.node, ref.tensor}); };
  const TensorRef out{layer->name, 0, 0};
  model->input_struct = x;
  model->output_struct = out;
  model->envelope["input_layers"] = as_json(x);
  model->envelope["output_layers"] = as_json(out);
  model->add(std::move(input));
  model->add(std::move(layer));
  model->connect();
  model->build_symbolic();
  return model;
}

/// The input shape of a layer from its build_config, without the batch.
std::optional<Shape> built_shape(const Ref& ref) {
  const auto build = ref.find("build_config");
  if (!build || !build->is_object()) return std::nullopt;
  std::optional<Ref> shape = build->find("input_shape");
  if (const auto shapes = build->find("shapes_dict"); shapes && shapes->is_object())
    shape = shapes->find("query_shape");
  if (!shape || !shape->is_array() || shape->size() == 0 || shape->json().front().is_structured()) return std::nullopt;
  const Shape whole = shape->shape();
  return whole.slice(1, whole.rank());
}

/// The class whose bare config this is: the one whose name its "name" starts with, else the only one that takes its
/// keys.
std::string class_of_bare_config(const Ref& config) {
  if (config.find("layers")) return config.find("input_layers") ? "Functional" : "Sequential";
  std::vector<std::string> fitting;
  const NotCollecting trying(config.document());
  for (const LayerRow& row : layer_rows()) {
    std::vector<std::string> ignored;
    try {
      const LayerPtr layer = read_layer_config(row.class_name, config, ignored);
      const std::string stem = snake_case(layer->class_name());
      const auto name = config.find("name");
      config.document().forget_foreign_keys();
      if (name && name->is_string() && (name->text() == stem || name->text().rfind(stem + "_", 0) == 0))
        return std::string(row.class_name);
      fitting.emplace_back(row.class_name);
    } catch (const Error&) {  // not this one
    }
    config.document().forget_foreign_keys();
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty())
    config.fail(
        "neither a Keras model nor a layer: expected an object with 'class_name' and 'config', the config of a layer, "
        "or the short encoder config with 'input_shape'");
  if (fitting.size() > 6) fitting.resize(6);
  config.fail("the config of a layer, but of which? Give {\"class_name\": …, \"config\": …}; it could be " +
              join(fitting, ", "));
}

Problem as_warning(Problem problem) {
  problem.warning = true;
  return problem;
}

/// The layer whose name a sentence begins with: "'dense' (Dense) …".
const Layer* find_quoted(Functional& model, const std::string& sentence) {
  const auto first = sentence.find('\''), last = sentence.find('\'', first + 1);
  if (first == std::string::npos || last == std::string::npos) return nullptr;
  return find_layer(model, sentence.substr(first + 1, last - first - 1));
}

constexpr const char* kHasInputShape = "the model has input shapes of its own, so the one that was given is not used";

}  // namespace

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::string& Model::builtin_encoder() {
  static const std::string text = kBuiltinEncoder;
  return text;
}

Model Model::read(const std::string& source, std::string text, const ReadOptions& options) {
  return Model(read_parts(source, std::move(text), options, nullptr));
}

std::unique_ptr<Model::Parts> Model::read_parts(const std::string& source, std::string text, const ReadOptions& options,
                                                std::vector<Problem>* problems) {
  auto parts = std::make_unique<Parts>();
  parts->document = std::make_unique<Document>(source, std::move(text));
  parts->document->collect(problems);
  parts->document->set_keras_version(options.keras_version.value_or(0));
  parts->older_fans = options.keras_version && *options.keras_version < kEinsumFans;
  if (const Ref read(*parts->document); !is_encoder_config(read) && is_keras2(read, options.keras_version)) {
    Translation translation = translate_keras2(read);
    parts->expanded =
        std::make_unique<Document>(*parts->document, std::move(translation.root), std::move(translation.origins), true);
  }
  const Ref root(parts->expanded ? *parts->expanded : *parts->document);
  std::optional<Shape> shape = options.input_shape;
  if (is_encoder_config(root)) {
    Translation expanded = expand_encoder_config(root, parts->warnings);
    parts->from_encoder_config = true;
    if (options.input_shape) parts->warnings.emplace_back(kHasInputShape);
    parts->expanded =
        std::make_unique<Document>(*parts->document, std::move(expanded.root), std::move(expanded.origins), false);
    parts->root = read_layer(Ref(*parts->expanded), parts->warnings);
    root.document().stop_after_problems(0);
    return parts;
  }
  if (root.find("class_name") && root.find("config")) {
    parts->root = read_layer(root, parts->warnings);
    if (!shape) shape = built_shape(root);
  } else {
    parts->root = read_layer_config(class_of_bare_config(root), root, parts->warnings);
    if (is_functional(parts->root.get())) {
      parts->model()->connect();
      parts->model()->build_symbolic();
    }
  }
  root.document().stop_after_problems(0);
  if (parts->root->is_operation()) root.fail("one operation is no model");
  if (full_name_bytes(*parts->root, 0) > kMostNameBytes) root.fail(too_long_names());
  parts->older_fans = parts->older_fans || root.document().is_keras2();
  if (const std::string foreign = root.document().foreign_keys(); !foreign.empty()) parts->warnings.push_back(foreign);
  if (parts->expanded && parts->model() != nullptr) complete_histories(*parts->model());
  if (auto* sequential = dynamic_cast<Sequential*>(parts->root.get());
      sequential != nullptr && !sequential->connected && shape) {
    Shape whole{kUnknown};
    whole.append(*shape);
    sequential->build_chain(whole);
    sequential->build_symbolic();
  } else if (options.input_shape && is_model(*parts->root)) {
    parts->warnings.emplace_back(kHasInputShape);
  }
  if (!is_model(*parts->root)) {
    parts->single_layer = true;
    parts->layer = parts->root.get();
    if (shape) parts->root = model_around(std::move(parts->root), *shape);
  }
  return parts;
}

std::vector<Problem> Model::validate(const std::string& source, std::string text, const ReadOptions& options) {
  std::vector<Problem> problems;
  try {
    auto parts = read_parts(source, std::move(text), options, &problems);
    parts->document->collect(nullptr);
    if (parts->expanded) parts->expanded->collect(nullptr);
    const Document& file = parts->expanded ? *parts->expanded : *parts->document;
    for (const std::string& pointer : file.foreign_key_pointers())
      add_problem(as_warning(file.problem(pointer, true, "a key of another version of Keras, read over")), problems);
    Functional* model = parts->model();
    const Model whole(std::move(parts));
    find_surprises(*whole.parts_->root, file, problems);
    if (model != nullptr && model->connected) {
      for (const std::string& warning : whole.masks().warnings) {
        const Layer* layer = find_quoted(*model, warning);
        add_problem(as_warning(layer != nullptr ? file.problem(layer->pointer, false, warning)
                                                : Problem{true, "", 0, 0, "", warning}),
                    problems);
      }
    }
  } catch (const Collected&) {  // they are in the list
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    problems.push_back(problem_of(error));
  }
  const bool full = problems.size() >= kMostProblems;
  for (Problem& problem : problems)
    if (problem.file.empty()) problem.file = printable(source);
  const auto key = [](const Problem& problem) {
    return std::tie(problem.line, problem.column, problem.warning, problem.pointer, problem.message);
  };
  std::stable_sort(problems.begin(), problems.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  problems.erase(
      std::unique(problems.begin(), problems.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
      problems.end());
  if (full) {
    const std::string more = fmt::format("there may be more: {} problems end the reading",
                                         with_commas(static_cast<std::int64_t>(kMostProblems)));
    problems.push_back({true, printable(source), 0, 0, "", more});
  }
  return problems;
}

std::vector<std::string> Model::layer_classes() {
  std::vector<std::string> names;
  for (const LayerRow& row : layer_rows()) names.emplace_back(row.class_name);
  return names;
}

Model Model::make_layer(const std::string& class_name,
                        const std::vector<std::pair<std::string, std::string>>& arguments) {
  // Values stay text here: Document reads them, which has its limits on what they hold.
  std::string config;
  for (const auto& [key, value] : arguments) {
    config += config.empty() ? "{" : ", ";
    config += to_json_text(Json(key)) + ": " + (Json::accept(value) ? value : to_json_text(Json(value)));
  }
  auto parts = std::make_unique<Parts>();
  parts->document = std::make_unique<Document>(class_name, config.empty() ? "{}" : config + "}");
  parts->root = read_layer_config(class_name, Ref(*parts->document), parts->warnings);
  parts->single_layer = true;
  parts->layer = parts->root.get();
  return Model(std::move(parts));
}

const std::string& Model::name() const { return parts_->root->name; }
std::string Model::class_name() const { return std::string(parts_->root->class_name()); }
bool Model::is_single_layer() const { return parts_->single_layer; }
const std::vector<std::string>& Model::warnings() const { return parts_->warnings; }

std::vector<std::string> Model::layer_names() const {
  std::vector<std::string> names;
  if (const Functional* model = parts_->model()) add_names(*model, "", names);
  return names;
}

std::vector<std::string> Model::input_names() const {
  std::vector<std::string> names;
  if (const Functional* model = parts_->model())
    for (const Layer* layer : model->input_layers()) names.push_back(layer->name);
  return names;
}

std::optional<std::string> Model::first_attention() const {
  Functional* model = parts_->model();
  if (model == nullptr) return std::nullopt;
  for (const std::string& name : layer_names())
    if (find_layer(*model, name)->class_name().find("Attention") != std::string_view::npos) return name;
  return std::nullopt;
}

Summary Model::summary() const {
  Functional* model = parts_->model();
  if (model == nullptr)
    parts_->root->fail("one layer without an input shape: give --input-shape, as in --input-shape 50,512");
  Summary out;
  out.name = model->name;
  out.class_name = model->class_name();
  const bool sequential = dynamic_cast<Sequential*>(model) != nullptr;
  out.sequential_like = model->sequential_like();
  for (Layer* layer : sequential ? model->layers() : model->operations()) {
    out.rows.push_back(row_of(*layer, 0, sequential ? nullptr : model));
    add_nested_rows(*layer, 1, out.rows);
  }
  const Totals totals = totals_of(*model);
  out.total_params = totals.params;
  out.trainable_params = totals.trainable;
  out.non_trainable_params = totals.params - totals.trainable;
  out.total_bytes = totals.bytes;
  out.trainable_bytes = totals.trainable_bytes;
  out.non_trainable_bytes = totals.bytes - totals.trainable_bytes;
  return out;
}

MaskTrace Model::masks() const {
  Functional* model = parts_->model();
  if (model == nullptr || !model->connected)
    parts_->root->fail("nothing is called without an input shape: give --input-shape, as in --input-shape 50,512");
  MaskTrace trace;
  graph::Graph scratch;
  Lowering lowering(scratch, true);
  MaskRecorder recorder(scratch, trace);
  lowering.recorder = &recorder;
  std::vector<TensorPtr> inputs;
  for (const Layer* layer : model->input_layers()) {
    const auto& input = static_cast<const InputLayer&>(*layer);
    inputs.push_back(Call::result(lowering.builder().input(input.name, input.element_type(), input.batch_shape)));
    recorder.add_input(inputs.back(), input.name);
  }
  model->run(lowering, inputs, false);
  return trace;
}

std::vector<graph::WeightSpec> Model::weights() const {
  std::set<const Layer*> frozen;
  if (const Functional* model = parts_->model())
    for (Layer* layer : model->layers())
      if (!is_trainable(*layer)) walk(*layer, "", "", frozen, [](const auto&, const auto&, const auto&) {});
  std::vector<graph::WeightSpec> specs;
  visit_weights(*parts_->root, [&](const Layer& layer, int, graph::WeightSpec spec) {
    spec.in_frozen_layer = frozen.contains(&layer);
    specs.push_back(std::move(spec));
  });
  if (!parts_->older_fans) return specs;
  for (graph::WeightSpec& spec : specs) {
    spec.initializer.input_axes.clear();
    spec.initializer.output_axes.clear();
  }
  return specs;
}

namespace {

/// The batch that --batch asks for, else the one of an array that was given, or that an input fixes; else 1.
std::int64_t batch_for(const Functional& model, const LowerOptions& options) {
  if (options.batch) return *options.batch;
  for (const auto& [name, shape] : options.input_shapes)
    if (shape.rank() > 0) return shape[0];
  for (const Layer* layer : model.input_layers()) {
    const Shape& shape = static_cast<const InputLayer&>(*layer).batch_shape;
    if (shape.rank() > 0 && shape[0] != kUnknown) return shape[0];
  }
  return 1;
}

/// For unknown lengths that nobody gave: the usual one, or what the learned positions allow.
std::int64_t default_length(Functional& model) {
  std::int64_t length = kDefaultSequenceLength;
  std::set<const Layer*> seen;
  walk(model, "", "", seen, [&](const Layer& layer, const auto&, const auto&) {
    length = std::min(length, layer.most_positions().value_or(length));
  });
  return length;
}

/// The inputs' lengths, where no dimension but the batch is unknown.
std::optional<std::vector<Dim>> fixed_lengths(const Functional& model) {
  std::vector<Dim> lengths;
  for (const Layer* layer : model.input_layers()) {
    const Shape& shape = static_cast<const InputLayer&>(*layer).batch_shape;
    for (int axis = 1; axis < shape.rank(); ++axis)
      if (shape[axis] == kUnknown) return std::nullopt;
    if (shape.rank() > 1) lengths.push_back(shape[1]);
  }
  return lengths;
}

Shape concrete_shape(const InputLayer& input, const LowerOptions& options, std::int64_t batch, std::int64_t length) {
  Shape shape = input.batch_shape;
  if (const auto given = options.input_shapes.find(input.name); given != options.input_shapes.end()) {
    bool fits = given->second.rank() == shape.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis)
      fits = shape[axis] == kUnknown || shape[axis] == given->second[axis];
    if (!fits)
      throw bad_input("the input '{}' has the shape {}, the array given for it has {}", printable(input.name),
                      shape.str(), given->second.str());
    return given->second;
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != kUnknown) {
      if (axis == 0 && options.batch && *options.batch != shape[0])
        throw bad_usage("the model fixes the batch of '{}' to {}; --batch {} does not fit", printable(input.name),
                        shape[0], *options.batch);
      continue;
    }
    if (axis == 0) {
      shape[axis] = batch;
    } else {
      shape[axis] = length;
    }
  }
  return shape;
}

constexpr std::array<std::string_view, 4> kComputed = {"float32", "bfloat16", "float16", "float64"};

/// Puts another compute dtype on all layers for the time of a lowering.
class PolicyOverride {
 public:
  PolicyOverride(Layer& root, const std::optional<std::string>& dtype) {
    if (!dtype) return;
    const auto compute = dtype_of(*dtype);
    if (!compute || !is_floating(*compute))
      throw bad_usage("--dtype {}: expected float32, bfloat16, float16 or float64{}", printable(*dtype),
                      did_you_mean(*dtype, kComputed));
    std::set<const Layer*> seen;
    walk(root, "", "", seen, [&](Layer& layer, const auto&, const auto&) {
      saved_.emplace_back(&layer, layer.policy);
      if (is_floating(layer.policy.compute)) layer.policy.compute = *compute;
    });
  }
  ~PolicyOverride() {
    for (auto& [layer, policy] : saved_) layer->policy = policy;
  }
  PolicyOverride(const PolicyOverride&) = delete;
  PolicyOverride& operator=(const PolicyOverride&) = delete;

 private:
  std::vector<std::pair<Layer*, DTypePolicy>> saved_;
};

/// Outputs by name: the keys of a dict, else output_0, … in order.
void name_outputs(const Arg& structure, const std::vector<TensorPtr>& tensors, graph::Graph& graph) {
  if (const auto* dict = structure.as<ArgDict>()) {
    // The tensors come in the order of sorted keys.
    std::vector<std::string> keys;
    for (const auto& [key, value] : *dict) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    if (keys.size() == tensors.size()) {
      for (std::size_t i = 0; i < keys.size(); ++i) graph.outputs.push_back({keys[i], tensors[i]->id});
      return;
    }
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    graph.outputs.push_back({"output_" + std::to_string(i), tensors[i]->id});
}

}  // namespace

bool Model::takes_length(std::int64_t length) const {
  const Functional* model = parts_->model();
  const auto fixed = model == nullptr ? std::nullopt : fixed_lengths(*model);
  return !fixed || std::find(fixed->begin(), fixed->end(), length) != fixed->end();
}

bool Model::reaches_length(std::int64_t length) const { return takes_length(length) || resized(length) != nullptr; }

const Model* Model::resized(std::int64_t length) const {
  if (!parts_->from_encoder_config) return nullptr;
  std::unique_ptr<Model>& kept = parts_->resized[length];
  if (!kept) {
    Json other = Ref(*parts_->document).json();
    if (other.contains("input_shape")) {
      other["input_shape"][0] = length;
    } else {
      other["sequence_length"] = length;
    }
    kept = std::make_unique<Model>(read(parts_->document->source(), to_json_text(other)));
  }
  // A model with a weight for each position is made for so many.
  const std::vector<graph::WeightSpec> mine = weights(), theirs = kept->weights();
  const bool same = std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                               [](const auto& a, const auto& b) { return a.shape == b.shape; });
  return same ? kept.get() : nullptr;
}

graph::Graph Model::lower(const LowerOptions& options) const { return anatomy(options).graph; }

Anatomy Model::anatomy(const LowerOptions& options) const {
  Functional* model = parts_->model();
  if (model == nullptr) parts_->root->fail("one layer without an input shape cannot run: give --input-shape");
  if (!model->connected) model->fail("the model knows no input shape: give --input-shape");
  const std::vector<std::string> names = input_names();
  for (const auto& [name, shape] : options.input_shapes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw bad_input("the model has no input '{}'; its inputs are {}", printable(name), join(names, ", "));
  if (options.sequence_length && !options.symbolic && !takes_length(*options.sequence_length)) {
    if (const Model* other = resized(*options.sequence_length)) {
      LowerOptions others = options;
      others.sequence_length.reset();
      return other->anatomy(others);
    }
  }
  const PolicyOverride policy(*model, options.dtype);

  Anatomy out;
  graph::Graph& graph = out.graph;
  graph.name = model->name;
  Lowering lowering(graph, options.symbolic);
  lowering.want_scores = options.scores;
  // All variables first, in Keras's order, under their full names.
  visit_weights(*model, [&](const Layer& layer, int index, const graph::WeightSpec& spec) {
    lowering.declare(layer, index, spec);
  });
  const std::int64_t batch = batch_for(*model, options);
  const std::int64_t length = options.sequence_length ? *options.sequence_length : default_length(*model);
  std::vector<TensorPtr> inputs;
  for (const Layer* layer : model->input_layers()) {
    const auto& input = static_cast<const InputLayer&>(*layer);
    const Shape shape = options.symbolic ? input.batch_shape : concrete_shape(input, options, batch, length);
    inputs.push_back(Call::result(lowering.builder().input(input.name, input.element_type(), shape)));
  }
  name_outputs(model->output_struct, model->run(lowering, inputs, false), graph);
  out.parts = parts_of(*model, lowering);
  return out;
}

std::string Model::config(const ConfigOptions& options) const {
  Layer* layer = parts_->single_layer ? parts_->layer : parts_->root.get();
  if (options.layer) {
    Functional* model = parts_->model();
    Layer* found = model == nullptr ? nullptr : find_layer(*model, *options.layer);
    if (found == nullptr && layer->name == *options.layer) found = layer;
    if (found == nullptr)
      throw bad_usage("no layer is called '{}'{}", printable(*options.layer),
                      did_you_mean(*options.layer, std::span<const std::string>(layer_names())));
    layer = found;
  }
  if (options.format == ConfigFormat::python) return to_python_text(layer_config(*layer, options.version));
  Json json = layer_json(*layer, options.version);
  if (options.layer || parts_->single_layer) {
    // One layer on its own has no calls.
    json.erase("name");
    json.erase("inbound_nodes");
  }
  return to_json_text(json, options.indent);
}

}  // namespace attn::keras
