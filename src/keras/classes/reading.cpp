#include "classes/reading.h"

#include <algorithm>

#include "attn/base/text.h"
#include "classes/class_table.h"
#include "classes/custom_layer.h"
#include "classes/layer.h"
#include "classes/layers/refused.h"
#include "config/bounds.h"
#include "config/built_in.h"
#include "config/foreign_class.h"

namespace attn::keras {
namespace {

/// Creates a layer of a supported class, and sets its record.
LayerPtr made(const ClassInfo& info) {
  LayerPtr layer = info.make();
  layer->info = &info;
  return layer;
}

std::string refusal(std::string_view kind, const ClassInfo& info) {
  return fmt::format("the {} '{}' is refused: {}", kind, info.name, info.refused);
}

/// Returns whether weights of the layer, or of layers inside it, are quantized.
bool is_quantized(const DTypePolicy& policy) {
  const auto is_quantized_inside = [](const auto& entry) { return entry.second.quantization.has_value(); };
  return policy.quantization || (policy.map && std::ranges::any_of(policy.map->by_path, is_quantized_inside)) ||
         (policy.stored && !policy.stored->empty());
}

constexpr std::size_t kMaxName = std::size_t{64} << 10;  // maximum bytes of a layer's name

/// Returns whether an object without a module is an operation. Keras 3 writes no modules into .h5. An operation differs
/// from the layer of the same name by missing keys and by its calls: Add(x, y), while the layer takes a list.
bool is_unnamed_operation(const Ref& ref, std::string_view class_name, const ClassTable& layers) {
  const auto config = ref.find("config");
  const auto nodes = ref.find("inbound_nodes");
  if (ref.find("module") || !config || !config->is_object() || config->find("trainable") || config->find("dtype"))
    return false;
  if (operation_classes().find(class_name) == nullptr || !nodes || !nodes->is_array() || nodes->size() == 0)
    return false;
  if (layers.find(class_name) == nullptr) return true;
  const Ref node = (*nodes)[0];
  if (!node.is_object() || !node.find("args") || !node["args"].is_array() || node["args"].size() == 0) return false;
  return !node["args"][0].is_array();
}

/// Returns the module without its last part, which differs in files of older versions. KerasNLP is the old name of
/// KerasHub.
std::string folder_of(std::string_view module) {
  std::string folder(module.substr(0, module.rfind('.')));
  if (folder.starts_with("keras_nlp")) folder.replace(0, 9, "keras_hub");
  return folder;
}

/// Returns whether the module belongs to another class than the supported one of this name. KerasHub has several
/// classes with the same name, and some with names of Keras classes.
bool is_of_another_module(std::string_view module, const ClassInfo& info) {
  const bool in_source = module.starts_with("keras_hub.src.") || module.starts_with("keras_nlp.src.");
  // KerasHub's ReversibleEmbedding is the old name of Keras's.
  return in_source && info.name != "ReversibleEmbedding" && folder_of(module) != folder_of(info.module);
}

/// Returns the model class as which an object of any class can be opened: Functional or Sequential, if its config has
/// that form; otherwise "".
std::string_view model_of_layers(const Ref& ref) {
  const auto config = ref.find("config");
  if (!config || !config->is_object()) return "";
  const auto layers = config->find("layers");
  if (!layers || !layers->is_array()) return "";
  const std::vector<Ref> members = layers->elements();
  const bool of_layers = !members.empty() && std::ranges::all_of(members, [](const Ref& member) {
    return member.is_object() && member.find("class_name") && member.find("config");
  });
  if (!of_layers) return "";
  if (config->find("input_layers") && config->find("output_layers")) return "Functional";
  // A layer may also have a list of layers. Only a chain that was built has an input layer.
  const Ref first = members.front()["class_name"];
  const bool built = config->find("build_input_shape") || (first.is_string() && first.text() == "InputLayer");
  return built ? "Sequential" : "";
}

/// Returns whether an object of a custom class has the form in which Keras writes layers, as opposed to other kinds of
/// objects.
bool is_custom_layer(const Ref& ref, std::string_view class_name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto in_name = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  if (class_name.empty() || !is_letter(class_name.front()) ||
      !std::all_of(class_name.begin(), class_name.end(), in_name))
    return false;
  const auto config = ref.find("config"), build = ref.find("build_config"), nodes = ref.find("inbound_nodes");
  if (class_name == "function" || !config || !config->is_object()) return false;
  const auto trainable = config->find("trainable");
  return (build && build->is_object()) || (nodes && nodes->is_array()) || (trainable && trainable->is_bool());
}

/// Returns a reference to a class of which only the name is known: from a notebook, an .h5 file, KerasHub, or a newer
/// Keras. Empty for a name that may be misspelled.
std::optional<CustomReference> unknown_class(const Ref& ref, const Ref& class_ref, std::string_view class_name,
                                             std::string_view module, const ClassInfo* info) {
  if (info != nullptr) {
    if (!is_of_another_module(module, *info)) return std::nullopt;
    return CustomReference{class_ref,
                           fmt::format("the class '{}' of the module '{}' is not known; only built-in classes run",
                                       printable(class_name), printable(module))};
  }
  if (const std::string_view why = missing_family(class_name); !why.empty() && module.starts_with("keras_hub."))
    return CustomReference{class_ref, fmt::format("the class '{}' is not supported: {}", printable(class_name), why)};
  const std::string meant = did_you_mean(class_name, ref.document().layers().names());
  // Keras 2 files have no modules; the translation adds them.
  const bool has_module = ref.find("module") && !ref.document().is_keras2();
  const bool of_keras = has_module && (module == "keras" || module.starts_with("keras."));
  const bool written_by_keras = has_module || ref.document().keras_version() != 0;
  if (!meant.empty() && (of_keras || !written_by_keras)) return std::nullopt;
  if (!is_custom_layer(ref, class_name) && model_of_layers(ref).empty()) return std::nullopt;
  return CustomReference{
      class_ref, fmt::format("the layer '{}' is not known{}; only built-in classes run", printable(class_name), meant)};
}

/// Returns the custom class inside a Keras wrapper layer, at any depth: TimeDistributed(Block()).
std::optional<CustomReference> wrapped_custom_class(const Ref& ref) {
  const auto config = ref.is_object() ? ref.find("config") : std::nullopt;
  if (!config || !config->is_object()) return std::nullopt;
  for (const char* key : {"layer", "forward_layer", "backward_layer", "cell", "cells"}) {
    const auto member = config->find(key);
    if (!member) continue;
    for (const Ref& inner : member->is_array() ? member->elements() : std::vector<Ref>{*member}) {
      const auto class_ref = inner.is_object() ? inner.find("class_name") : std::nullopt;
      if (!class_ref || !class_ref->is_string()) continue;
      const std::string_view class_name = package_and_class(class_ref->text()).second;
      if (auto foreign = foreign_class(inner); foreign && is_custom_layer(inner, class_name)) return foreign;
      const auto module = inner.find("module");
      const ClassInfo* const info = ref.document().layers().find(class_name);
      const std::string_view of = module && module->is_string() ? std::string_view(module->text()) : "";
      if (auto unknown = unknown_class(inner, *class_ref, class_name, of, info)) return unknown;
      if (auto deeper = wrapped_custom_class(inner)) return deeper;
    }
  }
  return std::nullopt;
}

/// The maximum of integers in configs of KerasHub, whose classes compute with sizes: a product of two stays in 64 bits.
constexpr std::int64_t kMostOfKerasHub = (std::int64_t{1} << 31) - 1;

void expect_moderate_integers(const Ref& value) {
  if (value.is_integer()) {
    (void)integer_in(value, -kMostOfKerasHub, kMostOfKerasHub);
  } else if (value.is_array()) {
    for (const Ref& element : value.elements()) expect_moderate_integers(element);
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.members())
      if (key != "shared_object_id" && key != "seed") expect_moderate_integers(member);
  }
}

void read_config(Layer& layer, const Ref& config, std::vector<std::string>& warnings) {
  config.expect_object();
  if (layer.info->package == "keras_hub" && !config.document().attempt([&] { expect_moderate_integers(config); }))
    return;
  layer.pointer = config.pointer();
  layer.document = &config.document();
  Fields fields(config, warnings);
  const Document& document = config.document();
  const std::size_t before = document.problem_count();
  if (!document.attempt([&] { layer.config(fields); })) return;
  if (!layer.is_operation()) {
    if (!layer.is_functional()) layer.policy.path = layer.name;
    layer.policy.stored = document.stored_at(layer.pointer);
    if (document.asked()) {
      if (is_quantized(layer.policy))
        config.fail(fmt::format("the layer '{}' is already quantized; a quantized model cannot be quantized again",
                                printable(layer.name)));
      if (!layer.policy.map) layer.quantize(*document.asked());
    }
  }
  // Any Keras layer accepts an activity regularizer, even if it is not among its fields.
  if (const auto regularizer = config.find("activity_regularizer"); regularizer && !layer.is_operation()) {
    Regularizer value{regularizer->json()};
    if (!fields.knows("activity_regularizer")) fields("activity_regularizer", value);
    layer.activity_regularizer = std::move(value.json);
  }
  // Any layer may have these keys in files of other Keras versions.
  fields.foreign({"batch_input_shape", "build_config", "registered_name"});
  fields.check_keys();
  if (document.problem_count() == before) layer.check(config);
}

}  // namespace

LayerPtr make_operation(std::string_view class_name, Json parameters) {
  const ClassInfo* info = operation_classes().find(class_name);
  if (info == nullptr) throw internal_error("no operation '{}'", class_name);
  const Document document(std::string(class_name), std::move(parameters));
  std::vector<std::string> warnings;
  LayerPtr operation = made(*info);
  read_config(*operation, Ref(document), warnings);
  operation->document = nullptr;
  if (operation->name.empty()) operation->name = snake_case(class_name);
  return operation;
}

LayerPtr read_layer_config(std::string_view class_name, const Ref& config, std::vector<std::string>& warnings) {
  const ClassTable& layers = config.document().layers();
  const ClassInfo* info = layers.find(class_name);
  if (info == nullptr)
    throw bad_input("unknown layer '{}'{}", printable(class_name), did_you_mean(class_name, layers.names()));
  if (!info->refused.empty()) throw bad_input("{}", refusal("layer", *info));
  LayerPtr layer = made(*info);
  read_config(*layer, config, warnings);
  if (layer->name.empty()) layer->name = snake_case(layer->class_name());
  return layer;
}

LayerPtr read_layer(const Ref& ref, std::vector<std::string>& warnings) {
  ref.expect_object();
  const Ref class_ref = ref["class_name"];
  const auto [package, class_name] = package_and_class(class_ref.text());
  const auto module_ref = ref.find("module");
  const std::string module = module_ref && module_ref->is_string() ? module_ref->text() : std::string();
  std::optional<CustomReference> foreign = foreign_class(ref);
  if (const auto config = ref.find("config"); !foreign && config) foreign = foreign_activation(*config);
  const ClassTable& layers = ref.document().layers();
  const ClassInfo* const named = layers.find(class_name);
  if (!foreign && named != nullptr && carries_code(*named) && is_custom_layer(ref, class_name))
    foreign = CustomReference{class_ref, refusal("layer", *named)};

  const bool operation = module.starts_with("keras.src.ops") || module.starts_with("keras.ops") ||
                         is_unnamed_operation(ref, class_name, layers);
  const char* const kind = operation ? "operation" : "layer";
  const ClassTable& table = operation ? operation_classes() : layers;
  const ClassInfo* info = table.find(class_name);
  if (!foreign && !operation) foreign = unknown_class(ref, class_ref, class_name, module, info);
  if (!foreign && info != nullptr && is_custom_layer(ref, class_name)) foreign = wrapped_custom_class(ref);
  const std::string_view opened = foreign ? model_of_layers(ref) : "";
  if (foreign && opened.empty() && !is_custom_layer(ref, class_name)) foreign->place.fail(foreign->why);
  if (info == nullptr && !foreign)
    class_ref.fail(fmt::format("the {} '{}' is not known{}", kind, printable(class_name),
                               did_you_mean(class_name, table.names())));
  if (!foreign && !info->refused.empty()) class_ref.fail(refusal(kind, *info));
  LayerPtr layer;
  if (!opened.empty()) {
    layer = made(*layers.find(opened));
    layer->envelope["class_name"] = std::string(class_name);
  } else {
    layer = foreign ? std::make_unique<CustomLayer>(std::string(class_name), foreign->why) : made(*info);
  }
  const Ref config = ref["config"];
  const std::size_t before = config.document().problem_count();
  read_config(*layer, config, warnings);
  if (layer->name.empty() && ref.find("name") && ref["name"].is_string()) layer->name = ref["name"].text();
  if (layer->name.size() > kMaxName) config.fail("a name of over 64 KiB is not accepted");
  if (layer->name.empty()) layer->name = snake_case(layer->class_name());
  // The members that a class writes about its object replace those that were read.
  for (const char* key :
       {"module", "registered_name", "build_config", "compile_config", "name", "inbound_nodes", "shared_object_id"}) {
    if (const auto member = ref.find(key)) {
      layer->envelope[key] = member->json();
    } else {
      layer->envelope.erase(key);
    }
  }
  layer->finish_reading(config.document(), before);
  return layer;
}

namespace {

/// Throws Error (bad_input) for a call argument that call() of this version does not accept.
void check_arguments(const Layer& layer, const Json& nodes, Version version) {
  if (layer.info->later_arguments.empty()) return;
  const std::span<const std::string_view> names = layer.arguments();
  for (const std::string& later : split(layer.info->later_arguments, ';')) {
    const std::size_t begin = later.starts_with(' ') ? 1 : 0, blank = later.find(' ', begin);
    const std::string name = later.substr(begin, blank - begin);
    const Version since = version_of(later.substr(blank + 1)).value();
    if (version >= since) continue;
    const auto position = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    for (const Json& node : nodes) {
      const Json kwargs = node.value("kwargs", Json::object()), args = node.value("args", Json::array());
      if (position < args.size() || (kwargs.contains(name) && !kwargs[name].is_null()))
        throw bad_input("{} '{}': the argument {} of its call is in Keras since {}, so it cannot be written for {}",
                        layer.class_name(), printable(layer.name), name, version_text(since), version_text(version));
    }
  }
}

/// A key that the version lacks may be omitted only if its value is that version's behavior.
void check_omitted_keys(const Layer& layer, const std::vector<Fields::OmittedKey>& keys, Version version) {
  Json defaults = Json::object();
  for (const Fields::OmittedKey& key : keys) {
    if (key.value.is_null() || key.value == false || key.key == "seed") continue;
    if (defaults.empty()) {
      const LayerPtr fresh = made(*layer.info);
      Fields fields(defaults, kNewest);
      fresh->config(fields);
    }
    if (defaults.contains(key.key) && defaults[key.key] == key.value) continue;
    throw bad_input("{} '{}': its {} of {} is in Keras since {}, so it cannot be written for {}", layer.class_name(),
                    printable(layer.name), key.key, printable(to_python_text(key.value)), version_text(key.since),
                    version_text(version));
  }
}

}  // namespace

Json layer_config(Layer& layer, Version version) {
  if (const Version since = layer.info->since.version; version < since)
    throw bad_input("'{}': {} is in Keras since {}, so it cannot be written for {}", printable(layer.name),
                    layer.class_name(), version_text(since), version_text(version));
  Json out = object_with_room(16);
  Fields fields(out, version);
  layer.config(fields);
  check_omitted_keys(layer, fields.omitted_keys(), version);
  if (layer.is_operation() && version < 311) {
    const Version until = layer.info->named_until;
    if (until == kWhereAlone ? out.size() > 1 : version > until) out.erase("name");
  }
  return out;
}

namespace {
/// Returns the registered name, which contains the package of the class. Built-in classes have none. A class without a
/// public export has its class name.
Json registered_name(const ClassInfo& info) {
  if (!info.package.empty()) return fmt::format("{}>{}", info.package, info.name);
  return info.module.find(".src.") == std::string_view::npos ? Json() : Json(std::string(info.name));
}
}  // namespace

Json layer_json(Layer& layer, Version version) {
  const Json& read = layer.envelope;
  Json out = object_with_room(8);
  // KerasNLP is the old name of KerasHub, whose module names replace those that were read.
  const bool old_name = read.contains("module") && read["module"].is_string() &&
                        read["module"].get_ref<const std::string&>().starts_with("keras_nlp");
  const auto keep = [&](const char* key, const Json& missing) {
    out[key] = read.contains(key) && !read[key].is_null() && !old_name ? read[key] : missing;
  };
  const bool own_class = read.contains("class_name");
  keep("module", own_class ? Json() : Json(std::string(layer.info->module)));
  out["class_name"] = own_class ? read["class_name"] : Json(std::string(layer.info->name));
  out["config"] = layer_config(layer, version);
  keep("registered_name", own_class ? read["class_name"] : registered_name(*layer.info));
  for (const char* key : {"build_config", "compile_config", "shared_object_id", "name", "inbound_nodes"})
    if (read.contains(key) && (version >= 310 || key != std::string_view("compile_config"))) out[key] = read[key];
  if (read.contains("inbound_nodes")) check_arguments(layer, read["inbound_nodes"], version);
  return out;
}

void read_field(const Ref& ref, LayerPtr& value, std::vector<std::string>& warnings) {
  value = read_layer(ref, warnings);
}

Json write_field(const LayerPtr& value, Version version) { return value ? layer_json(*value, version) : Json(); }

}  // namespace attn::keras
