#include "functional.h"

#include <algorithm>
#include <array>
#include <set>

#include "attn/base/text.h"
#include "lowering.h"
#include "table.h"

namespace attn::keras {
namespace {

/// The tensors of an argument in the order of keras.tree.flatten, which sorts the keys of a dict.
template <typename Leaf, typename Visit>
void visit_leaves(const Arg& arg, Visit&& visit) {
  if (const auto* leaf = arg.as<Leaf>()) {
    visit(*leaf);
  } else if (const auto* list = arg.as<ArgList>()) {
    for (const Arg& item : *list) visit_leaves<Leaf>(item, visit);
  } else if (const auto* dict = arg.as<ArgDict>()) {
    std::vector<const std::pair<std::string, Arg>*> sorted;
    for (const auto& item : *dict) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* item : sorted) visit_leaves<Leaf>(item->second, visit);
  }
}

/// `arg` with every TensorRef replaced.
template <typename Resolve>
Arg resolved(const Arg& arg, Resolve&& resolve) {
  if (const auto* ref = arg.as<TensorRef>()) return resolve(*ref);
  if (const auto* list = arg.as<ArgList>()) {
    ArgList out;
    for (const Arg& item : *list) out.push_back(resolved(item, resolve));
    return out;
  }
  if (const auto* dict = arg.as<ArgDict>()) {
    ArgDict out;
    for (const auto& [key, item] : *dict) out.emplace_back(key, resolved(item, resolve));
    return out;
  }
  return arg;
}

std::vector<int> index_pair(const Ref& node, const Ref& tensor) {
  const auto checked = [](const Ref& ref) {
    const std::int64_t value = ref.integer_from(0);
    if (value > 1'000'000) ref.fail("an index of over 1,000,000 is not accepted");
    return static_cast<int>(value);
  };
  return {checked(node), checked(tensor)};
}

/// The name of a layer that could not be read, or "".
std::string name_in(const Ref& ref) {
  const auto text = [](const Json& json) -> std::string {
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return "";
    return json["name"].get<std::string>();
  };
  std::string own = text(ref.json());
  if (!own.empty() || !ref.is_object() || !ref.json().contains("config")) return own;
  return text(ref.json()["config"]);
}

DType tensor_dtype(const Ref& ref) {
  const auto dtype = dtype_of(ref.text());
  if (!dtype) ref.fail("unknown dtype " + ref.kind());
  return *dtype;
}

/// A nested list of numbers with its shape.
Tensor read_constant(const Ref& value, DType dtype) {
  Shape shape;
  for (Ref level = value; level.is_array(); level = level[0]) {
    shape.push_back(static_cast<Dim>(level.size()));
    if (level.size() == 0) break;
  }
  // The list is read before the tensor is made: only its first rows say how large that would be.
  std::vector<double> elements;
  const auto read = [&](auto& self, const Ref& ref, int axis) -> void {
    if (axis == shape.rank()) {
      elements.push_back(ref.is_bool() ? static_cast<double>(ref.boolean()) : ref.number());
      return;
    }
    if (!ref.is_array() || static_cast<Dim>(ref.size()) != shape[axis])
      ref.fail(fmt::format("a constant must be rectangular: expected {} elements here", shape[axis]));
    for (const Ref& item : ref.elements()) self(self, item, axis + 1);
  };
  read(read, value, 0);
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < elements.size(); ++i) tensor.set(static_cast<std::int64_t>(i), elements[i]);
  return tensor;
}

}  // namespace

bool is_functional(const Layer* layer) {
  return dynamic_cast<const Functional*>(layer) != nullptr && dynamic_cast<const Sequential*>(layer) == nullptr;
}

void collect_refs(const Arg& arg, std::vector<TensorRef>& out) {
  visit_leaves<TensorRef>(arg, [&](const TensorRef& ref) { out.push_back(ref); });
}

Arg read_arg(const Ref& ref) {
  if (ref.is_null()) return {};
  if (ref.is_bool()) return ref.boolean();
  if (ref.is_integer()) return ref.integer();
  if (ref.is_number()) return ref.number();
  if (ref.is_string()) return ref.text();
  if (ref.is_array()) {
    ArgList list;
    for (const Ref& item : ref.elements()) list.push_back(read_arg(item));
    return list;
  }
  const auto class_name = ref.find("class_name");
  if (!class_name || !ref.find("config")) {
    ArgDict dict;
    for (const auto& [key, item] : ref.members()) dict.emplace_back(key, read_arg(item));
    return dict;
  }
  const std::string& kind = class_name->text();
  const Ref config = ref["config"];
  if (kind == "__keras_tensor__") {
    const Ref history = config["keras_history"];
    const auto at = index_pair(history[1], history[2]);
    return TensorRef{history[0].text(), at[0], at[1]};
  }
  if (kind == "__tensor__" || kind == "__numpy__")
    return ConstantArg{read_constant(config["value"], tensor_dtype(config["dtype"]))};
  if (kind == "__slice__") {
    SliceArg slice;
    const auto part = [&](const char* key) -> std::optional<std::int64_t> {
      const auto value = config.find(key);
      if (!value || value->is_null()) return std::nullopt;
      return value->integer();
    };
    slice.range.start = part("start");
    slice.range.stop = part("stop");
    slice.range.step = part("step").value_or(1);
    if (slice.range.step == 0) config["step"].fail("a slice step must not be 0");
    return slice;
  }
  if (kind == "__ellipsis__") return EllipsisArg{};
  if (kind == "DTypePolicy") return DTypePolicy::read(ref).compute;
  class_name->fail(fmt::format("an argument of the kind '{}' is not accepted", printable(kind)));
}

Arg read_tensor_struct(const Ref& ref) {
  if (ref.is_array()) {
    if (ref.size() == 3 && ref[0].is_string()) {
      const auto at = index_pair(ref[1], ref[2]);
      return TensorRef{ref[0].text(), at[0], at[1]};
    }
    ArgList list;
    for (const Ref& item : ref.elements()) list.push_back(read_tensor_struct(item));
    return list;
  }
  if (!ref.is_object()) ref.fail("expected [\"layer\", 0, 0], or a list or an object of them, got " + ref.kind());
  ArgDict dict;
  for (const auto& [key, item] : ref.members()) dict.emplace_back(key, read_tensor_struct(item));
  return dict;
}

// ---------------------------------------------------------------------------------------------------- InputLayer

DType InputLayer::element_type() const { return *dtype_of(dtype); }

void InputLayer::config(Fields& f) {
  if (f.reading()) {
    f.ignored({"shape"});
    f.foreign({"trainable"});
    for (const char* key : {"batch_shape", "batch_input_shape"})
      if (const auto ref = f.take(key); ref && !ref->is_null()) batch_shape = ref->shape();
    if (const auto ref = f.take("shape"); ref && !ref->is_null()) {
      batch_shape = Shape{kUnknown};
      batch_shape.append(ref->shape());
    }
    if (const auto ref = f.take("dtype"); ref && !ref->is_null()) {
      const Ref text = ref->is_object() ? (*ref)["config"]["name"] : *ref;
      tensor_dtype(text);
      dtype = text.text();
    }
  } else {
    f("batch_shape", batch_shape);
    f("dtype", dtype);
  }
  f("sparse", sparse);
  f("ragged", ragged, 309);
  f("name", name);
  f("optional", optional, 313);
  if (f.reading()) {
    if (sparse) f.config()["sparse"].fail("sparse inputs are not supported");
    if (ragged) f.config()["ragged"].fail("ragged inputs are not supported");
  }
}

Arg InputLayer::call(Call&) { throw internal_error("an InputLayer is not called"); }

// ---------------------------------------------------------------------------------------------------- Functional

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
      // A tensor alone was a list of one before 3.11.
      const bool alone = ends.is_array() && !ends.empty() && ends.front().is_string();
      f.put(key, alone && f.version() < 311 ? Json::array({ends}) : ends);
    }
    return;
  }
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

void Functional::add(LayerPtr layer) {
  if (members_.size() >= kMostCalls)
    layer->fail(fmt::format("more than {} layers in a model are not accepted", kMostCalls));
  if (!index_.emplace(layer->name, static_cast<int>(members_.size())).second)
    layer->fail(fmt::format("two layers of this model have the name '{}'", printable(layer->name)));
  members_.push_back(std::move(layer));
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
        fmt::format("no layer is called '{}'{}", printable(ref.layer), did_you_mean(ref.layer, names));
    if (document != nullptr) throw document->error(at, false, message);
    throw bad_input("{}", message);
  }
  const Layer& layer = *member(it->second);
  const std::size_t calls =
      std::max<std::size_t>(layer.nodes.size(), dynamic_cast<const InputLayer*>(&layer) != nullptr ? 1 : 0);
  if (ref.node < 0 || static_cast<std::size_t>(ref.node) >= calls) {
    const std::string message =
        fmt::format("'{}' is called {} times, but call {} is asked for", printable(ref.layer), calls, ref.node);
    if (document != nullptr) throw document->error(at, false, message);
    throw bad_input("{}", message);
  }
  return {it->second, ref.node};
}

void Functional::connect_what_is_right(const Document& of_file, std::size_t before) {
  const auto check = [&](const std::vector<TensorRef>& refs, const std::string& at) {
    for (const TensorRef& ref : refs)
      if (!is_wrong(ref.layer)) of_file.attempt([&] { (void)producer(ref, at); });
  };
  for (const Arg* ends : {&input_struct, &output_struct}) {
    std::vector<TensorRef> refs;
    collect_refs(*ends, refs);
    for (TensorRef& ref : refs)
      if (is_functional(find(ref.layer))) --ref.node;
    check(refs, pointer + (ends == &input_struct ? "/input_layers" : "/output_layers"));
  }
  for (const LayerPtr& layer : members_) {
    for (const NodeSpec& node : layer->nodes) {
      std::vector<TensorRef> refs;
      collect_refs(node.args, refs);
      collect_refs(node.kwargs, refs);
      check(refs, node.pointer);
    }
  }
  check_calls(of_file);
  of_file.stop_after_problems(before);
}

void Functional::check_calls(const Document& of_file) {
  graph::Graph scratch;
  Lowering lowering(scratch, true);
  // Results of each member's calls; nothing where they are not known.
  std::vector<std::vector<std::optional<std::vector<TensorPtr>>>> results(members_.size());
  struct Waiting {
    std::size_t member = 0, call = 0;
    std::vector<TensorRef> reads;
  };
  std::vector<Waiting> waiting;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Layer& layer = *members_[i];
    results[i].resize(std::max<std::size_t>(layer.nodes.size(), 1));
    if (is_wrong(layer.name)) continue;
    if (const auto* input = dynamic_cast<const InputLayer*>(&layer)) {
      results[i][0] = {Call::result(lowering.builder().input(input->name, input->element_type(), input->batch_shape))};
      continue;
    }
    for (std::size_t n = 0; n < layer.nodes.size(); ++n) {
      waiting.push_back({i, n, {}});
      collect_refs(layer.nodes[n].args, waiting.back().reads);
      collect_refs(layer.nodes[n].kwargs, waiting.back().reads);
    }
  }
  const auto known = [&](const TensorRef& ref) -> const std::vector<TensorPtr>* {
    const auto it = index_.find(ref.layer);
    if (it == index_.end()) return nullptr;
    const auto& calls = results[static_cast<std::size_t>(it->second)];
    if (ref.node < 0 || static_cast<std::size_t>(ref.node) >= calls.size()) return nullptr;
    const auto& call = calls[static_cast<std::size_t>(ref.node)];
    return call ? &*call : nullptr;
  };
  // Layers mostly stand in an order that runs, so that few rounds do.
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::size_t count = waiting.size();
    std::erase_if(waiting, [&](const Waiting& next) {
      if (!std::all_of(next.reads.begin(), next.reads.end(), known)) return false;
      Layer& layer = *members_[next.member];
      const NodeSpec& spec = layer.nodes[next.call];
      of_file.attempt([&] {
        const auto result_of = [&](const TensorRef& ref) -> Arg {
          const std::vector<TensorPtr>& outputs = *known(ref);
          if (static_cast<std::size_t>(ref.tensor) >= outputs.size())
            throw of_file.error(spec.pointer, false,
                                fmt::format("'{}' gives {} results in call {}, but result {} is asked for",
                                            printable(ref.layer), outputs.size(), ref.node, ref.tensor));
          return outputs[static_cast<std::size_t>(ref.tensor)];
        };
        const Arg args = resolved(spec.args, result_of), kwargs = resolved(spec.kwargs, result_of);
        results[next.member][next.call] = tensors_of(lowering.apply(layer, args, kwargs));
      });
      return true;
    });
    if (waiting.size() == count) break;
  }
}

void Functional::connect() {
  // Functional members count their calls from 1 in input_layers and output_layers (and only there).
  const auto shifted = [&](TensorRef ref) {
    if (is_functional(find(ref.layer))) --ref.node;
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
    if (dynamic_cast<InputLayer*>(member(key.operation)) == nullptr)
      fail(fmt::format("the input '{}' is no InputLayer", printable(ref.layer)));
    input_members.push_back(key.operation);
  }
  std::vector<std::vector<std::vector<NodeKey>>> parents(members_.size());
  reads_.assign(members_.size(), {});
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Layer& layer = *members_[i];
    const bool input = dynamic_cast<const InputLayer*>(&layer) != nullptr;
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
    fail(fmt::format("the calls run in a circle at '{}'", printable(member(cycle.node.operation)->name)));
  }
  std::map<std::int64_t, Layer*> shared;
  for (const LayerPtr& layer : members_)
    if (const auto id = layer->envelope.find("shared_object_id");
        id != layer->envelope.end() && id->is_number_integer())
      shared.emplace(id->get<std::int64_t>(), layer.get());
  for (const LayerPtr& layer : members_) layer->share(shared);
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

namespace {
/// Keys of a container in .weights.h5: the class in snake case, counted per class in the order of layers
/// (keras/src/saving/saving_lib.py, _save_container_state).
std::vector<Layer::Sublayer> container_sublayers(const std::vector<Layer*>& layers) {
  std::vector<Layer::Sublayer> out;
  std::map<std::string, int> used;
  for (Layer* layer : layers) {
    std::string key = snake_case(layer->class_name());
    const int count = used[key]++;
    if (count > 0) key += "_" + std::to_string(count);
    // A functional model is made of layers that were built before it: their paths do not name it.
    const bool detached = is_functional(layer);
    out.push_back({layer, detached ? "" : layer->name + "/", "layers/" + key + "/", detached});
  }
  return out;
}
}  // namespace

std::vector<Layer::Sublayer> Functional::sublayers() { return container_sublayers(layers()); }

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
  // Results of each member's calls.
  std::vector<std::vector<std::vector<TensorPtr>>> results(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) results[i].resize(reads_[i].size());
  const auto result_of = [&](const TensorRef& ref) -> Arg {
    const NodeKey key = producer(ref, pointer);
    const auto& outputs = results[static_cast<std::size_t>(key.operation)][static_cast<std::size_t>(key.index)];
    if (static_cast<std::size_t>(ref.tensor) >= outputs.size())
      fail(fmt::format("'{}' gives {} results in call {}, but result {} is asked for", printable(ref.layer),
                       outputs.size(), ref.node, ref.tensor));
    return outputs[static_cast<std::size_t>(ref.tensor)];
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const int member_index = index_.find(inputs_[i].layer)->second;
    results[static_cast<std::size_t>(member_index)][0] = {inputs[i]};
    if (record) member(member_index)->node_shapes = {{lowering.builder().shape(inputs[i]->id)}};
  }
  for (const auto& level : topology_.by_depth) {
    for (const NodeKey& node : level) {
      Layer& layer = *member(node.operation);
      if (dynamic_cast<InputLayer*>(&layer) != nullptr) continue;
      const NodeSpec& spec = layer.nodes[static_cast<std::size_t>(node.index)];
      const Arg args = resolved(spec.args, result_of), kwargs = resolved(spec.kwargs, result_of);
      const std::vector<TensorPtr> outputs = tensors_of(lowering.apply(layer, args, kwargs));
      if (record) {
        layer.node_shapes.resize(layer.nodes.size());
        auto& shapes = layer.node_shapes[static_cast<std::size_t>(node.index)];
        shapes.clear();
        for (const TensorPtr& out : outputs) shapes.push_back(lowering.builder().shape(out->id));
      }
      results[static_cast<std::size_t>(node.operation)][static_cast<std::size_t>(node.index)] = outputs;
    }
  }
  std::vector<TensorPtr> out;
  for (const TensorRef& ref : outputs_) out.push_back(*result_of(ref).as<TensorPtr>());
  return out;
}

void Functional::build_symbolic() {
  graph::Graph scratch;
  Lowering lowering(scratch, true);
  lowering.only_shapes = true;
  std::vector<TensorPtr> inputs;
  for (Layer* layer : input_layers()) {
    const auto& input = static_cast<const InputLayer&>(*layer);
    inputs.push_back(Call::result(lowering.builder().input(input.name, input.element_type(), input.batch_shape)));
    layer->built = true;
  }
  known_results_.clear();
  for (const TensorPtr& out : run(lowering, inputs, true))
    known_results_.push_back(
        {lowering.builder().shape(out->id), lowering.builder().dtype(out->id), out->mask.has_value()});
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

namespace {
/// The results in the structure of the model's outputs; a list of one is unpacked (unpack_singleton).
Arg packed(const Arg& structure, const std::vector<TensorPtr>& tensors) {
  std::size_t next = 0;
  // Dicts are flattened by sorted key, so walk them the same way.
  const auto pack = [&](auto& self, const Arg& arg) -> Arg {
    if (arg.as<TensorRef>()) return tensors[next++];
    if (const auto* list = arg.as<ArgList>()) {
      ArgList out;
      for (const Arg& item : *list) out.push_back(self(self, item));
      return out;
    }
    ArgDict dict = *arg.as<ArgDict>();
    std::vector<std::size_t> sorted(dict.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::stable_sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return dict[a].first < dict[b].first; });
    for (const std::size_t i : sorted) dict[i].second = self(self, Arg(dict[i].second));
    return dict;
  };
  Arg out = pack(pack, structure);
  if (const auto* list = out.as<ArgList>(); list != nullptr && list->size() == 1) return Arg(list->front());
  return out;
}

/// The values of a call in the order of the model's inputs: by name where a dict meets a list of inputs, else as
/// keras.tree flattens them.
std::vector<TensorPtr> ordered_inputs(const Arg& given, const Arg& structure, const std::vector<Layer*>& layers) {
  if (const auto* dict = given.as<ArgDict>(); dict != nullptr && structure.as<ArgDict>() == nullptr) {
    std::vector<TensorPtr> out;
    for (const Layer* layer : layers) {
      const auto it =
          std::find_if(dict->begin(), dict->end(), [&](const auto& item) { return item.first == layer->name; });
      if (it == dict->end()) throw bad_input("the input '{}' is missing", printable(layer->name));
      out.push_back(*it->second.template as<TensorPtr>());
    }
    return out;
  }
  std::vector<TensorPtr> out;
  visit_leaves<TensorPtr>(given, [&](const TensorPtr& tensor) { out.push_back(tensor); });
  return out;
}

/// The masks of the inputs, which a call may give in the structure of the inputs, None among them.
std::vector<TensorPtr> ordered_masks(const Arg& given) {
  std::vector<TensorPtr> out;
  if (const auto* tensor = given.as<TensorPtr>()) {
    out.push_back(*tensor);
  } else if (given.is_none()) {
    out.push_back(nullptr);
  } else if (const auto* list = given.as<ArgList>()) {
    for (const Arg& item : *list)
      for (TensorPtr& mask : ordered_masks(item)) out.push_back(std::move(mask));
  } else if (const auto* dict = given.as<ArgDict>()) {
    std::map<std::string, const Arg*> sorted;
    for (const auto& [key, item] : *dict) sorted.emplace(key, &item);
    for (const auto& [key, item] : sorted)
      for (TensorPtr& mask : ordered_masks(*item)) out.push_back(std::move(mask));
  }
  return out;
}
}  // namespace

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

// ---------------------------------------------------------------------------------------------------- Sequential

void Sequential::config(Fields& f) {
  f("name", name);
  f("trainable", trainable);
  f("dtype", policy);
  if (!f.reading()) {
    Json layers = Json::array();
    for (const LayerPtr& layer : members_) layers.push_back(layer_json(*layer, f.version()));
    f.put("layers", std::move(layers));
    if (build_input_shape) f("build_input_shape", *build_input_shape);
    return;
  }
  const auto list = f.take("layers");
  if (!list) f.config().fail("the key 'layers' is missing");
  const Document& file = f.config().document();
  const std::size_t before = file.problem_count();
  for (const Ref& ref : list->elements()) {
    file.attempt([&] {
      LayerPtr layer = read_layer(ref, f.warnings());
      if (layer->name.empty()) ref.fail("a layer of a model needs a name");
      if (layer->is_operation()) ref.fail("a Sequential holds layers only");
      const bool first = ref.pointer().ends_with("/0");
      if (dynamic_cast<InputLayer*>(layer.get()) != nullptr && !first)
        ref.fail("only the first layer of a Sequential can be an InputLayer");
      // Of a chain that is broken, what comes before can be checked.
      if (file.problem_count() == before) add(std::move(layer));
    });
  }
  if (const auto shape = f.take("build_input_shape"); shape && !shape->is_null()) {
    // Several inputs, or an input that is no plain tensor, are no chain that Keras would build.
    if (shape->is_array() &&
        std::none_of(shape->json().begin(), shape->json().end(), [](const Json& d) { return d.is_structured(); }))
      build_input_shape = shape->shape();
  }
}

std::optional<DType> Sequential::input_dtype() const {
  if (has_input()) return static_cast<const InputLayer&>(*members_.front()).element_type();
  return policy.compute;
}

bool Sequential::has_input() const {
  return !members_.empty() && dynamic_cast<const InputLayer*>(members_.front().get()) != nullptr;
}

void Sequential::connect_what_is_right(const Document& of_file, std::size_t before) {
  const bool broken = of_file.problem_count() > before;
  const bool known = has_input() ? members_.size() > 1 : build_input_shape.has_value() && !members_.empty();
  if (broken && known) {
    of_file.attempt([&] {
      build_chain(has_input() ? static_cast<const InputLayer&>(*members_.front()).batch_shape : *build_input_shape);
      build_symbolic();
    });
  }
  of_file.stop_after_problems(before);
}

void Sequential::build_chain(const Shape& input_shape) {
  if (!has_input()) {
    if (members_.empty()) fail("a Sequential without layers cannot be built");
    auto input = std::make_unique<InputLayer>();
    const auto* first = dynamic_cast<const InputLayer*>(members_.front().get());
    input->row = find_row("InputLayer");
    input->name = "input_layer";
    while (index_.contains(input->name)) input->name += "_";
    input->batch_shape = input_shape;
    input->dtype = std::string(name_of(first == nullptr ? members_.front()->policy.compute : DType::float32));
    members_.insert(members_.begin(), std::move(input));
    index_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) index_.emplace(members_[i]->name, static_cast<int>(i));
  }
  for (std::size_t i = 1; i < members_.size(); ++i)
    members_[i]->nodes = {NodeSpec{ArgList{TensorRef{members_[i - 1]->name, 0, 0}}, ArgDict{}, members_[i]->pointer}};
  const auto as_output = [](const std::string& layer, int node) { return TensorRef{layer, node, 0}; };
  input_struct = as_output(members_.front()->name, 0);
  const Layer& last = *members_.back();
  // connect() counts the calls of functional members from 1 here, as configs do.
  output_struct = as_output(last.name, is_functional(&last) ? 1 : 0);
  connect();
}

Arg Sequential::call(Call& call) {
  if (!connected) {
    Shape shape = call.shape(call.tensor("inputs"));
    shape[0] = kUnknown;
    build_chain(shape);
    build_symbolic();
  }
  return Functional::call(call);
}

std::vector<Layer*> Sequential::layers() const {
  std::vector<Layer*> out;
  for (std::size_t i = has_input() ? 1 : 0; i < members_.size(); ++i) out.push_back(members_[i].get());
  return out;
}

std::vector<Layer::Sublayer> Sequential::sublayers() { return container_sublayers(layers()); }

}  // namespace attn::keras
