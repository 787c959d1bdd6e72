#include "model/model_lowering.h"

#include <algorithm>

#include "attn/base/text.h"
#include "classes/call.h"
#include "classes/placed_error.h"
#include "model/mask_recorder.h"

namespace attn::keras {
namespace {

bool holds_tensors(const Arg& arg) {
  if (arg.as<TensorPtr>()) return true;
  const auto* list = arg.as<ArgList>();
  return list != nullptr && !list->empty() &&
         std::all_of(list->begin(), list->end(), [](const Arg& item) { return item.as<TensorPtr>() != nullptr; });
}

/// Returns the mask of a tensor as an argument; for a list of tensors, a list of masks.
Arg mask_of(const Arg& arg) {
  if (const auto* tensor = arg.as<TensorPtr>()) return (*tensor)->mask ? Arg(Call::result(*(*tensor)->mask)) : Arg();
  ArgList masks;
  for (const Arg& item : *arg.as<ArgList>()) masks.push_back(mask_of(item));
  return masks;
}

/// Returns the masks of an argument's tensors, or of an explicit mask argument (tensors, None, and lists of these).
Masks flat_masks(const Arg& arg) {
  Masks masks;
  for (const TensorPtr& tensor : tensors_of(arg)) masks.push_back(tensor->mask);
  return masks;
}
Masks explicit_masks(const Arg& arg) {
  if (const auto* tensor = arg.as<TensorPtr>()) return {(*tensor)->id};
  Masks masks;
  if (const auto* list = arg.as<ArgList>()) {
    for (const Arg& item : *list) {
      const auto* tensor = item.as<TensorPtr>();
      masks.push_back(tensor ? std::optional((*tensor)->id) : std::nullopt);
    }
  }
  return masks;
}

}  // namespace

std::string too_long_names() {
  return fmt::format("more than {} MiB of layers' names, with those of the models around them, are not accepted",
                     kMostNameBytes >> 20U);
}

Arg ModelLowering::as_inputs(const Arg& arg, std::optional<DType> dtype) {
  if (const auto* constant = arg.as<ConstantArg>())
    return as_inputs(Call::result(builder().constant(constant->tensor)), dtype);
  if (const auto* tensor = arg.as<TensorPtr>()) {
    const DType own = builder().dtype((*tensor)->id);
    if (!dtype || !is_floating(own) || own == *dtype) return arg;
    // A new object with the same mask, so that removing the mask from it does not affect the original.
    return std::make_shared<KerasTensor>(KerasTensor{builder().cast((*tensor)->id, *dtype), (*tensor)->mask});
  }
  if (const auto* list = arg.as<ArgList>()) {
    ArgList out;
    for (const Arg& item : *list) out.push_back(as_inputs(item, dtype));
    return out;
  }
  if (const auto* dict = arg.as<ArgDict>()) {
    ArgDict out;
    for (const auto& [key, item] : *dict) out.emplace_back(key, as_inputs(item, dtype));
    return out;
  }
  return arg;
}

ModelLowering::BoundArguments ModelLowering::bind(Layer& layer, const Arg& args, const Arg& kwargs) {
  const auto names = layer.arguments();
  BoundArguments bound;
  const ArgList& list = *args.as<ArgList>();
  if (list.size() > names.size()) throw bad_input("called with {} arguments, it takes {}", list.size(), names.size());
  for (std::size_t i = 0; i < list.size(); ++i) bound.emplace(std::string(names[i]), list[i]);
  for (const auto& [key, value] : *kwargs.as<ArgDict>()) {
    if (key == "training") continue;  // attn never runs a layer in training
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      if (value.is_none()) continue;
      throw bad_input("called with the unknown argument '{}'{}", printable(key), did_you_mean(key, names));
    }
    if (!bound.emplace(key, value).second) throw bad_input("the argument '{}' is given twice", printable(key));
  }
  return bound;
}

void ModelLowering::fill_masks(Layer& layer, BoundArguments& bound) {
  const auto names = layer.arguments();
  const auto takes = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const auto missing = [&](std::string_view name) {
    const auto it = bound.find(name);
    return it == bound.end() || it->second.is_none();
  };
  if (layer.follows_keras2() && takes("mask")) {
    // Keras 2 reads only the first argument.
    const auto first = bound.find(names.front());
    if (missing("mask") && first != bound.end() && holds_tensors(first->second)) bound["mask"] = mask_of(first->second);
    return;
  }
  std::vector<std::string> with_tensors;
  for (const auto& [name, value] : bound)
    if (holds_tensors(value)) with_tensors.push_back(name);
  if (with_tensors.size() == 1) {
    if (takes("mask") && missing("mask")) bound["mask"] = mask_of(bound[with_tensors.front()]);
  } else {
    for (const std::string& name : with_tensors) {
      const std::string mask = name + "_mask";
      if (takes(mask) && missing(mask)) bound[mask] = mask_of(bound[name]);
    }
  }
}

void ModelLowering::count(const Layer& layer) {
  called_.insert(&layer);
  name_bytes_ += scope().size() + layer.name.size();
  constexpr const char* kInner = "calls inside models and wrappers count once for each call of these";
  const std::size_t calls = callees_.size();
  if (calls > kMostCalls) throw bad_input("more than {} calls of layers are not accepted; {}", kMostCalls, kInner);
  if (calls - called_.size() > kMostRepeats)
    throw bad_input("more than {} calls of layers that were called before are not accepted; {}", kMostRepeats, kInner);
  if (name_bytes_ > kMostNameBytes) throw bad_input("{}; {}", too_long_names(), kInner);
}

Arg ModelLowering::apply(Layer& layer, const Arg& args, const Arg& kwargs) {
  graph::Graph& graph = builder().graph();
  const graph::LayerId outer_layer = builder().layer();
  Layer* const outer = current_;
  current_ = &layer;
  graph.layers.push_back({scope() + layer.name, std::string(layer.class_name()), {}, outer_layer});
  callees_.push_back(&layer);
  const auto id = static_cast<graph::LayerId>(graph.layers.size()) - 1;
  builder().set_layer(id);

  try {
    count(layer);
    check_texts(layer, args, kwargs);
    auto bound = layer.is_operation()
                     ? bind(layer, args, kwargs)
                     : bind(layer, as_inputs(args, layer.input_dtype()), as_inputs(kwargs, layer.input_dtype()));
    if (!layer.is_operation()) fill_masks(layer, bound);

    const std::string first(layer.arguments().front());
    const Arg first_arg = bound.contains(first) ? bound[first] : Arg();
    const auto mask_arg = bound.find("mask");
    const Masks previous = mask_arg != bound.end() && !mask_arg->second.is_none() ? explicit_masks(mask_arg->second)
                                                                                  : flat_masks(first_arg);

    // A layer inside a wrapper is traced as part of the wrapper.
    const bool watched = recorder != nullptr && watching_;
    MaskRecorder::Call recorded;
    if (watched) recorded = recorder->begin(layer, bound, args, kwargs);
    mask_used_ = false;
    const bool outer_watching = watching_;
    watching_ = watched && layer.is_model();

    Call call(*this, layer, std::move(bound));
    if (!layer.built) {
      Weights weights(layer.weights, layer.policy.variable, layer.trainable);
      layer.build(weights, call);
      layer.built = true;
    }
    const std::size_t known_values = graph.values.size();
    Arg result = layer.call(call);
    const std::vector<TensorPtr> outputs = tensors_of(result);
    watching_ = outer_watching;
    if (watched) recorder->computed(recorded, mask_used_);

    if (symbolic()) {
      if (const auto shapes = layer.symbolic_shapes(call)) {
        for (std::size_t i = 0; i < outputs.size() && i < shapes->size(); ++i) {
          // A value that the layer returns unchanged keeps its shape, because other nodes may read it.
          if (static_cast<std::size_t>(outputs[i]->id) < known_values)
            outputs[i]->id = builder().apply(graph::Fill{(*shapes)[i], builder().dtype(outputs[i]->id), 0.0}, {});
          graph.value(outputs[i]->id).shape = (*shapes)[i];
        }
      }
    }
    if (!layer.is_operation() && layer.supports_masking()) {
      const bool all =
          std::all_of(outputs.begin(), outputs.end(), [](const auto& out) { return out->mask.has_value(); });
      if (!all) {
        const Masks masks = layer.compute_mask(call, previous);
        for (std::size_t i = 0; i < outputs.size() && i < masks.size(); ++i)
          if (!outputs[i]->mask) outputs[i]->mask = masks[i];
      }
    }
    if (watched) recorder->end(recorded, layer, outputs);
    for (const TensorPtr& out : outputs)
      if (out->id != graph::kNone) graph.layers[static_cast<std::size_t>(id)].outputs.push_back(out->id);
    builder().set_layer(outer_layer);
    current_ = outer;
    return result;
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    layer.fail(error.what(), error.field());
  }
}

void ModelLowering::check_texts(const Layer& layer, const Arg& args, const Arg& kwargs) {
  if (layer.takes_texts() || layer.is_model()) return;
  for (const Arg* given : {&args, &kwargs})
    for (const TensorPtr& tensor : tensors_of(*given))
      if (tensor->text)
        throw bad_input(
            "it computes with numbers, but '{}' gives it strings; use TextVectorization, StringLookup, Hashing or "
            "HashedCrossing",
            printable(tensor->text->input));
}

graph::ValueId ModelLowering::encoded_texts(const std::vector<TextSource>& sources,
                                            std::shared_ptr<const text::Encoding> encoding) {
  for (const TextSource& source : sources)
    for (const TextStage& stage : texts)
      if (stage.name == source.input)
        throw bad_input("it hashes the result of '{}'; only inputs can be hashed", printable(stage.name));
  std::string name = scope() + current_->name;
  const int call = texts_given_[name]++;
  if (call > 0) name += "[" + std::to_string(call) + "]";
  Shape shape = text::encoded_shape(*encoding, sources.front().shape);
  if (!symbolic()) {
    const auto given = given_shapes.find(name);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (given != given_shapes.end() && given->second.rank() != shape.rank()) break;
      const Dim told = given == given_shapes.end() ? text_length : given->second[axis];
      if (shape[axis] == kUnknown) shape[axis] = told;
    }
    if (given != given_shapes.end() && given->second != shape)
      throw bad_input("it returns integers of the shape {}, but their array has {}", shape.str(), given->second.str());
  }
  const graph::ValueId id = builder().input(name, DType::int64, std::move(shape));
  TextStage stage{std::move(name), {}, std::move(encoding)};
  for (const TextSource& source : sources) stage.inputs.push_back(source.input);
  texts.push_back(std::move(stage));
  return id;
}

void ModelLowering::add_scores(graph::ValueId scores) {
  std::string name = scope() + current_->name;
  const int call = scores_given_[name]++;
  if (call > 0) name += "[" + std::to_string(call) + "]";
  builder().graph().scores.push_back({std::move(name), scores});
}

graph::ValueId ModelLowering::weight(const Layer& layer, int index) {
  const auto [it, added] = weights_.try_emplace({one(layer), index}, graph::kNone);
  if (added) {
    // The weight is not declared, because full names are known only once the whole model is built. Any unique name
    // works.
    graph::WeightSpec spec = layer.weights.at(static_cast<std::size_t>(index));
    spec.store_path = std::to_string(weights_.size());
    it->second = builder().weight(spec);
  }
  return it->second;
}

}  // namespace attn::keras
