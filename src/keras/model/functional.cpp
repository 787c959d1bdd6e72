#include "model/functional.h"

#include <algorithm>
#include <array>
#include <set>

#include "attn/base/text.h"
#include "classes/call.h"
#include "classes/custom_layer.h"
#include "classes/reading.h"
#include "model/arg_reading.h"
#include "model/input_layer.h"
#include "model/model_lowering.h"
#include "model/structure.h"
#include "model/variables.h"

namespace attn::keras {
namespace {

/// Returns the name of a layer that could not be read, or "".
std::string name_in(const Ref& ref) {
  const auto text = [](const Json& json) -> std::string {
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return "";
    return json["name"].get<std::string>();
  };
  std::string own = text(ref.json());
  if (!own.empty() || !ref.is_object() || !ref.json().contains("config")) return own;
  return text(ref.json()["config"]);
}

}  // namespace

void Functional::config(Fields& f) {
  f("name", name);
  f("trainable", trainable);
  if (!f.reading()) {
    Json layers = Json::array();
    for (const int operation : topology_.operations) {
      Layer& layer = *member(operation);
      layers.push_back(layer_json(layer, f.version()));
    }
    f.put("layers", std::move(layers));
    for (const char* key : {"input_layers", "output_layers"}) {
      const Json& ends = envelope[key];
      // Before 3.11, a single tensor was a list with one element.
      const bool alone = ends.is_array() && !ends.empty() && ends.front().is_string();
      f.put(key, alone && f.version() < 311 ? Json::array({ends}) : ends);
    }
    for (const auto& [key, value] : own_keys_.items()) f.put(key, value);
    return;
  }
  keep_own_keys(f, {"name", "trainable", "layers", "input_layers", "output_layers"});
  const auto list = f.take("layers");
  if (!list) f.config().fail("the key 'layers' is missing");
  const Document& file = f.config().document();
  for (const Ref& ref : list->elements())
    if (!file.attempt([&] { add(ref, f.warnings()); })) wrong_.insert(name_in(ref));
  const auto in = f.take("input_layers"), out = f.take("output_layers");
  if (!in || !out) f.config().fail("the keys 'input_layers' and 'output_layers' are both needed");
  file.attempt([&] { input_struct = read_tensor_struct(*in); });
  file.attempt([&] { output_struct = read_tensor_struct(*out); });
  envelope["input_layers"] = in->json();
  envelope["output_layers"] = out->json();
}

void Functional::keep_own_keys(Fields& f, std::initializer_list<std::string_view> keys) {
  if (!envelope.contains("class_name")) return;
  for (const auto& [key, value] : f.config().json().items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    own_keys_[key] = value;
    f.ignored({key});
  }
}

void Functional::add(LayerPtr layer) {
  borrow(*layer);
  owned_.push_back(std::move(layer));
}

void Functional::borrow(Layer& layer) {
  if (members_.size() >= kMostCalls)
    layer.fail(fmt::format("more than {} layers in a model are not accepted", kMostCalls));
  if (!index_.emplace(layer.name, static_cast<int>(members_.size())).second)
    layer.fail(fmt::format("two layers of this model have the name '{}'", printable(layer.name)));
  members_.push_back(&layer);
}

void Functional::add(const Ref& ref, std::vector<std::string>& warnings) {
  const std::size_t before = ref.document().problem_count();
  LayerPtr layer = read_layer(ref, warnings);
  if (const auto given = ref.find("name")) layer->name = given->text();
  if (layer->name.empty()) ref.fail("a layer of a model needs a name");
  if (const auto calls = ref.find("inbound_nodes")) {
    for (const Ref& node : calls->elements()) {
      NodeSpec spec;
      spec.pointer = node.pointer();
      ref.document().attempt([&] {
        node.expect_object();
        spec.args = read_arg(node["args"]);
        spec.kwargs = read_arg(node["kwargs"]);
        if (!spec.args.as<ArgList>()) node["args"].fail("expected a list");
        if (!spec.kwargs.as<ArgDict>()) node["kwargs"].fail("expected an object");
      });
      layer->nodes.push_back(std::move(spec));
    }
  }
  if (ref.document().problem_count() > before) wrong_.insert(layer->name);
  add(std::move(layer));
}

Layer* Functional::find(std::string_view wanted) const {
  const auto it = index_.find(wanted);
  return it == index_.end() ? nullptr : member(it->second);
}

NodeKey Functional::producer(const TensorRef& ref, const std::string& at) const {
  const auto it = index_.find(ref.layer);
  if (it == index_.end()) {
    std::vector<std::string_view> names;
    if (index_.size() <= kMostNames)
      for (const auto& [key, index] : index_) names.emplace_back(key);
    const std::string message =
        fmt::format("there is no layer '{}'{}", printable(ref.layer), did_you_mean(ref.layer, names));
    if (document != nullptr) throw document->error(at, false, message);
    throw bad_input("{}", message);
  }
  const Layer& layer = *member(it->second);
  const std::size_t calls = std::max<std::size_t>(layer.nodes.size(), as_input(layer) != nullptr ? 1 : 0);
  if (ref.node < 0 || static_cast<std::size_t>(ref.node) >= calls) {
    const std::string message =
        fmt::format("'{}' is called {} times, but call {} is requested", printable(ref.layer), calls, ref.node);
    if (document != nullptr) throw document->error(at, false, message);
    throw bad_input("{}", message);
  }
  return {it->second, ref.node};
}

bool Functional::is_functional_member(std::string_view layer) const {
  const Layer* found = find(layer);
  return found != nullptr && found->is_functional();
}

void Functional::finish_reading(const Document& of_file, std::size_t before) {
  if (of_file.collects()) check_valid_parts(of_file);
  of_file.stop_after_problems(before);
  connect();
  build_symbolic();
  FirstLayers met;
  pair_shared(*this, met);
}

namespace {

bool have_same_variables(const Layer& a, const Layer& b) {
  return std::equal(a.weights.begin(), a.weights.end(), b.weights.begin(), b.weights.end(),
                    [](const auto& x, const auto& y) { return x.path == y.path && x.shape == y.shape; });
}

}  // namespace

void Functional::pair(Layer& layer, Layer& with) {
  if (&layer == &with || layer.info != with.info || !have_same_variables(layer, with)) return;
  ones_.emplace(&layer, one(with));
  const std::vector<Layer::Sublayer> inner = layer.sublayers(), others = with.sublayers();
  for (std::size_t i = 0; i < inner.size() && inner.size() == others.size(); ++i)
    pair(*inner[i].layer, *others[i].layer);
}

void Functional::pair_shared(Functional& model, FirstLayers& met) {
  for (Layer* layer : model.members_) {
    const auto id = layer->envelope.find("shared_object_id");
    if (id != layer->envelope.end() && id->is_number_integer()) {
      // Keras marks an object with an id from the second time on that it writes the object.
      const auto first = met.by_name.find(layer->name);
      Layer* const known = first == met.by_name.end() ? layer : first->second;
      Layer& object = *met.by_id.emplace(id->get<std::int64_t>(), known).first->second;
      pair(*layer, object);
      // Keras cannot load a file in which only one of the two objects is marked.
      if (one(*layer) == one(object)) object.envelope["shared_object_id"] = *id;
    }
    met.by_name.emplace(layer->name, layer);
    if (auto* nested = dynamic_cast<Functional*>(layer)) pair_shared(*nested, met);
  }
}

const Layer* Functional::one(const Layer& layer) const {
  const auto found = ones_.find(&layer);
  return found == ones_.end() ? &layer : found->second;
}

void Functional::connect() {
  // Functional members count their calls from 1 in input_layers and output_layers, and only there.
  const auto shifted = [&](TensorRef ref) {
    if (is_functional_member(ref.layer)) --ref.node;
    return ref;
  };
  inputs_.clear();
  outputs_.clear();
  collect_refs(input_struct, inputs_);
  collect_refs(output_struct, outputs_);
  for (auto* refs : {&inputs_, &outputs_})
    for (TensorRef& ref : *refs) ref = shifted(ref);
  if (inputs_.empty()) fail("a model needs an input");
  if (outputs_.empty()) fail("a model needs an output");

  std::vector<int> input_members;
  for (const TensorRef& ref : inputs_) {
    const NodeKey key = producer(ref, pointer);
    if (as_input(*member(key.operation)) == nullptr)
      fail(fmt::format("the input '{}' is not an InputLayer", printable(ref.layer)));
    input_members.push_back(key.operation);
  }
  std::vector<std::vector<std::vector<NodeKey>>> parents(members_.size());
  reads_.assign(members_.size(), {});
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Layer& layer = *members_[i];
    const bool input = as_input(layer) != nullptr;
    parents[i].resize(std::max<std::size_t>(layer.nodes.size(), input ? 1 : 0));
    reads_[i].resize(parents[i].size());
    for (std::size_t n = 0; n < layer.nodes.size(); ++n) {
      collect_refs(layer.nodes[n].args, reads_[i][n]);
      collect_refs(layer.nodes[n].kwargs, reads_[i][n]);
      for (const TensorRef& ref : reads_[i][n]) parents[i][n].push_back(producer(ref, layer.nodes[n].pointer));
    }
  }
  std::vector<NodeKey> outputs;
  for (const TensorRef& ref : outputs_) outputs.push_back(producer(ref, pointer));
  try {
    topology_ = map_graph(parents, input_members, outputs);
  } catch (const CycleAt& cycle) {
    fail(fmt::format("the calls form a cycle at '{}'", printable(member(cycle.node.operation)->name)));
  }
  std::map<std::int64_t, Layer*> shared;
  for (Layer* layer : members_)
    if (const auto id = layer->envelope.find("shared_object_id");
        id != layer->envelope.end() && id->is_number_integer())
      shared.emplace(id->get<std::int64_t>(), layer);
  for (Layer* layer : members_) layer->share(shared);
  connected = true;
}

std::span<const std::string_view> Functional::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"inputs", "mask"};
  return kNames;
}

std::vector<Layer*> Functional::operations() const {
  std::vector<Layer*> out;
  for (const int operation : topology_.operations) out.push_back(member(operation));
  return out;
}

std::vector<Layer*> Functional::layers() const {
  std::vector<Layer*> out;
  for (Layer* layer : operations())
    if (!layer->is_operation()) out.push_back(layer);
  return out;
}

std::vector<Layer*> Functional::input_layers() const {
  std::vector<Layer*> out;
  for (const TensorRef& ref : inputs_) out.push_back(find(ref.layer));
  return out;
}

std::vector<std::string> Functional::output_layers() const {
  std::vector<std::string> out;
  for (const TensorRef& ref : outputs_) out.push_back(ref.layer);
  return out;
}

std::vector<Layer::Sublayer> Functional::sublayers() {
  // Keys of a container in .weights.h5 are class names in snake case, numbered by class in the order of layers
  // (keras/src/saving/saving_lib.py, _save_container_state).
  std::vector<Sublayer> out;
  std::map<std::string, int> used;
  for (Layer* layer : layers()) {
    std::string key = snake_case(layer->class_name());
    const int count = used[key]++;
    if (count > 0) key += "_" + std::to_string(count);
    // The layers of a functional model were built before it: their paths do not include its name.
    const bool detached = layer->is_functional();
    out.push_back({layer, detached ? "" : layer->name + "/", "layers/" + key + "/", detached});
  }
  return out;
}

bool Functional::sequential_like() const {
  std::set<int> called;
  for (const auto& level : topology_.by_depth) {
    if (level.size() > 1) return false;
    const NodeKey node = level.front();
    if (reads_[static_cast<std::size_t>(node.operation)][static_cast<std::size_t>(node.index)].size() > 1) return false;
    if (!called.insert(node.operation).second) return false;
  }
  return true;
}

std::vector<std::string> Functional::connections(const Layer& layer) const {
  std::vector<std::string> out;
  const auto it = index_.find(layer.name);
  if (it == index_.end() || member(it->second) != &layer) return out;
  const auto operation = static_cast<std::size_t>(it->second);
  for (const int call : topology_.calls[operation])
    for (const TensorRef& ref : reads_[operation][static_cast<std::size_t>(call)])
      out.push_back(fmt::format("{}[{}][{}]", ref.layer, ref.node, ref.tensor));
  return out;
}

std::vector<TensorPtr> Functional::run(Lowering& lowering, const std::vector<TensorPtr>& inputs, bool record) {
  // The results of each member's calls: [member][call][result].
  std::vector<std::vector<std::vector<TensorPtr>>> results(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) results[i].resize(reads_[i].size());
  const auto result_of = [&](const TensorRef& ref) -> Arg {
    const NodeKey key = producer(ref, pointer);
    const auto& outputs = results[static_cast<std::size_t>(key.operation)][static_cast<std::size_t>(key.index)];
    if (static_cast<std::size_t>(ref.tensor) >= outputs.size())
      fail(fmt::format("'{}' gives {} results in call {}, but result {} is requested", printable(ref.layer),
                       outputs.size(), ref.node, ref.tensor));
    return outputs[static_cast<std::size_t>(ref.tensor)];
  };
  const auto shape_in = [&](const TensorPtr& tensor) {
    return is_unknown(tensor) ? std::nullopt : std::optional(lowering.builder().shape(tensor->id));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const int member_index = index_.find(inputs_[i].layer)->second;
    results[static_cast<std::size_t>(member_index)][0] = {inputs[i]};
    if (record) member(member_index)->node_shapes = {{lowering.builder().shape(inputs[i]->id)}};
  }
  for (const auto& level : topology_.by_depth) {
    for (const NodeKey& node : level) {
      Layer& layer = *member(node.operation);
      if (as_input(layer) != nullptr) continue;
      const NodeSpec& spec = layer.nodes[static_cast<std::size_t>(node.index)];
      const Arg args = resolved(spec.args, result_of), kwargs = resolved(spec.kwargs, result_of);
      const auto given = tensors_of(ArgList{args, kwargs});
      const bool runs = as_custom(layer) == nullptr && std::none_of(given.begin(), given.end(), is_unknown);
      const std::vector<TensorPtr> outputs =
          runs ? tensors_of(lowering.apply(layer, args, kwargs)) : expected_results(lowering, node);
      if (record) {
        layer.node_shapes.resize(layer.nodes.size());
        auto& shapes = layer.node_shapes[static_cast<std::size_t>(node.index)];
        shapes.clear();
        for (const TensorPtr& out : outputs)
          if (const auto shape = shape_in(out)) shapes.push_back(*shape);
      }
      results[static_cast<std::size_t>(node.operation)][static_cast<std::size_t>(node.index)] = outputs;
    }
  }
  std::vector<TensorPtr> out;
  for (const TensorRef& ref : outputs_) out.push_back(*result_of(ref).as<TensorPtr>());
  return out;
}

std::vector<TensorPtr> Functional::expected_results(Lowering& lowering, const NodeKey& node) {
  if (!unknown_results_) {
    unknown_results_.emplace();
    for (const Layer* reader : members_) unknown_results_->learn(*reader);
  }
  const Layer& layer = *member(node.operation);
  int count = 1;
  const auto see = [&](const TensorRef& ref) {
    if (ref.layer == layer.name && ref.node == node.index) count = std::max(count, ref.tensor + 1);
  };
  for (const auto& calls : reads_)
    for (const auto& refs : calls) std::for_each(refs.begin(), refs.end(), see);
  std::for_each(outputs_.begin(), outputs_.end(), see);
  const auto& opened = dynamic_cast<const ModelLowering&>(lowering).opened;
  if (!lowering.symbolic() && !opened) refuse_custom(*this);
  std::vector<TensorPtr> out;
  for (int i = 0; i < count; ++i) {
    std::optional<Shape> shape = unknown_results_->shape_of({layer.name, node.index, i});
    if (shape && !lowering.symbolic())
      for (int axis = 0; axis < shape->rank(); ++axis)
        if ((*shape)[axis] == kUnknown) (*shape)[axis] = axis == 0 ? opened->batch : opened->length;
    const DType dtype = is_floating(layer.policy.compute) ? layer.policy.compute : DType::float32;
    out.push_back(shape ? Call::result(lowering.builder().apply(graph::Fill{*shape, dtype, 0.0}, {}))
                        : unknown_result());
  }
  return out;
}

void refuse_custom(Layer& root) {
  visit_layers(root, [](const Layer& layer) {
    if (const CustomLayer* custom = as_custom(layer)) custom->refuse();
  });
}

void Functional::build_symbolic() {
  graph::Graph scratch;
  ModelLowering lowering(scratch, true);
  lowering.only_shapes = true;
  std::vector<TensorPtr> inputs;
  for (Layer* layer : input_layers()) {
    const auto& input = static_cast<const InputLayer&>(*layer);
    inputs.push_back(input_tensor(lowering.builder(), input, input.batch_shape));
    layer->built = true;
  }
  known_results_.clear();
  for (const TensorPtr& out : run(lowering, inputs, true)) {
    if (is_unknown(out)) {
      known_results_.clear();
      break;
    }
    known_results_.push_back(
        {lowering.builder().shape(out->id), lowering.builder().dtype(out->id), out->mask.has_value()});
  }
  built = true;
}

std::optional<std::vector<TensorPtr>> Functional::known_results(Lowering& lowering,
                                                                const std::vector<TensorPtr>& inputs) const {
  const auto masked = [](const Result& result) { return result.masked; };
  if (!lowering.only_shapes || known_results_.empty() ||
      std::any_of(known_results_.begin(), known_results_.end(), masked))
    return std::nullopt;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& layer = static_cast<const InputLayer&>(*find(inputs_[i].layer));
    if (inputs[i]->mask || lowering.builder().shape(inputs[i]->id) != layer.batch_shape) return std::nullopt;
  }
  std::vector<TensorPtr> out;
  for (const Result& result : known_results_)
    out.push_back(Call::result(lowering.builder().apply(graph::Fill{result.shape, result.dtype, 0.0}, {})));
  return out;
}

Arg Functional::call(Call& call) {
  Lowering& lowering = call.lowering();
  std::vector<TensorPtr> given = ordered_inputs(call.arg("inputs"), input_struct, input_layers());
  if (given.size() != inputs_.size())
    throw bad_input("the model takes {} inputs, the call gives {}", inputs_.size(), given.size());
  const std::vector<TensorPtr> masks = call.has("mask") ? ordered_masks(call.arg("mask")) : std::vector<TensorPtr>();
  std::vector<TensorPtr> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& layer = static_cast<const InputLayer&>(*input_layers()[i]);
    const Shape& shape = call.shape(given[i]);
    const Shape& wanted = layer.batch_shape;
    bool fits = shape.rank() == wanted.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis)
      fits = shape[axis] == kUnknown || wanted[axis] == kUnknown || shape[axis] == wanted[axis];
    if (!fits)
      throw bad_input("the input '{}' has the shape {}, got {}", printable(layer.name), wanted.str(), shape.str());
    if ((given[i]->text != nullptr) != layer.is_text())
      throw bad_input("the input '{}' is of {}, got {}", printable(layer.name), layer.is_text() ? "strings" : "numbers",
                      layer.is_text() ? "numbers" : "strings");
    const DType dtype = layer.element_type();
    inputs.push_back(
        lowering.builder().dtype(given[i]->id) == dtype
            ? given[i]
            : std::make_shared<KerasTensor>(KerasTensor{lowering.builder().cast(given[i]->id, dtype), given[i]->mask}));
    if (i < masks.size() && masks[i] != nullptr) inputs.back()->mask = masks[i]->id;
  }
  if (const auto known = known_results(lowering, inputs)) return packed(output_struct, *known);
  const LayerScope scope(lowering, name);
  return packed(output_struct, run(lowering, inputs, false));
}

namespace {

constexpr std::array kFunctionalClasses = {ClassInfo{.name = "Functional",
                                                     .make = make_layer<Functional>,
                                                     .since = 300,
                                                     .module = "keras.src.models.functional",
                                                     .role = Role::model,
                                                     .also = "Model"}};

}  // namespace

Family functional_classes() { return kFunctionalClasses; }

}  // namespace attn::keras
