#include "frontends/keras2/translate.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/text.h"
#include "frontends/keras2/classes.h"
#include "frontends/keras2/operations.h"

namespace attn::keras {
namespace {

constexpr const char* kConstant = "_CONSTANT_VALUE";
constexpr std::int64_t kMaxIndex = 1'000'000;

/// Returns the class name without a package: "Dense" for "keras_hub>Dense".
std::string class_of(const Ref& layer) {
  const std::string& name = layer["class_name"].text();
  const auto at = name.find('>');
  return at == std::string::npos ? name : name.substr(at + 1);
}

bool is_functional_class(std::string_view class_name) { return class_name == "Functional" || class_name == "Model"; }

/// Returns whether the value is a tensor in a call: ["layer", 0, 0] or ["layer", 0, 0, {…}].
bool is_tensor(const Ref& ref) {
  return ref.is_array() && (ref.size() == 3 || ref.size() == 4) && ref[0].is_string() && ref[1].is_integer() &&
         ref[0].text() != kConstant && ref[2].is_integer();
}

bool is_constant(const Ref& ref) {
  return ref.is_array() && ref.size() >= 3 && ref[0].is_string() && ref[0].text() == kConstant;
}

std::int64_t index_of(const Ref& ref) {
  const std::int64_t index = ref.integer_from(0);
  if (index > kMaxIndex) ref.fail("an index of over 1,000,000 is not accepted");
  return index;
}

class Translator {
 public:
  explicit Translator(Origins& origins) : origins_(origins) {}

  /// Translates a layer or model {class_name, config, …}; `at` is the pointer of the result.
  Json layer(const Ref& ref, const std::string& at) {
    const std::string class_name = class_of(ref);
    if (is_functional_class(class_name))
      return {{"module", "keras.src.models.functional"},
              {"class_name", "Functional"},
              {"config", functional(ref["config"], at + "/config")},
              {"registered_name", "Functional"}};
    if (class_name == "Sequential")
      return {{"module", "keras"},
              {"class_name", "Sequential"},
              {"config", sequential(ref["config"], at + "/config")},
              {"registered_name", nullptr}};
    return translated(ref, at).first;
  }

  Json functional(const Ref& config, const std::string& at);
  Json sequential(const Ref& config, const std::string& at);

 private:
  /// Translates a layer that is not a model, and returns the arguments that move from its constructor to its calls.
  std::pair<Json, Json> translated(const Ref& ref, const std::string& at) {
    TranslatedClass out = translate_class(class_of(ref), ref["class_name"], ref["config"],
                                          [&](const Ref& inner) { return layer(inner, at + "/config"); });
    const auto module = ref.find("module");
    const auto registered = ref.find("registered_name");
    // Classes of Keras itself get the module keras.layers. Foreign classes keep their module, and are rejected later
    // under their own names.
    const bool foreign = module && module->is_string() && !module->text().starts_with("keras") &&
                         !module->text().starts_with("tf_keras") && !module->text().starts_with("tensorflow");
    Json json = {{"module", foreign ? module->json() : Json("keras.layers")},
                 {"class_name", out.class_name},
                 {"config", std::move(out.config)},
                 {"registered_name", registered ? registered->json() : Json()}};
    return {std::move(json), std::move(out.call_arguments)};
  }

  Origins& origins_;
};

/// The layers of one functional model, and the tensors in its calls.
class Members {
 public:
  Members(const Ref& config, const std::vector<Ref>& layers) {
    for (const Ref& layer : layers) {
      const std::string& name = layer["name"].text();
      names_.insert(name);
      if (const auto nodes = layer.find("inbound_nodes")) calls_[name] = static_cast<std::int64_t>(nodes->size());
    }
    for (const Ref& layer : layers)
      if (const auto nodes = layer.find("inbound_nodes")) find_highest(*nodes);
    for (const char* key : {"input_layers", "output_layers"})
      if (const auto ends = config.find(key)) find_highest(*ends);
  }

  [[nodiscard]] const std::set<std::string>& names() const { return names_; }
  /// Translates a tensor in a call. Returns ["layer", 0, 0] if `is_tensor`.
  [[nodiscard]] Json tensor(const Ref& ref) const {
    const std::string& name = ref[0].text();
    return keras_tensor(name, index_of(ref[1]) - first_call(name), index_of(ref[2]));
  }
  /// Returns the number of a member's first call here. A model that was built before it is called here counts the
  /// building as call 0, so its calls here begin with 1.
  [[nodiscard]] std::int64_t first_call(const std::string& name) const {
    const auto calls = calls_.find(name);
    const auto highest = highest_.find(name);
    if (calls == calls_.end() || highest == highest_.end()) return 0;
    return calls->second > 0 && highest->second == calls->second ? 1 : 0;
  }

 private:
  void find_highest(const Ref& ref) {
    if (is_tensor(ref)) {
      auto& highest = highest_[ref[0].text()];
      highest = std::max(highest, index_of(ref[1]));
      if (ref.size() == 4) find_highest(ref[3]);
      return;
    }
    if (ref.is_array())
      for (const Ref& item : ref.elements()) find_highest(item);
    if (ref.is_object())
      for (const auto& [key, item] : ref.members()) find_highest(item);
  }

  std::set<std::string> names_;
  std::map<std::string, std::int64_t> calls_, highest_;
};

/// Reads one call: its first argument with its structure, and its other arguments by name.
class NodeReader {
 public:
  explicit NodeReader(const Members& members) : members_(members) {}

  Json first, arguments = Json::object();

  void read(const Ref& node) { first = structure(node); }

 private:
  Json structure(const Ref& ref) {
    if (is_tensor(ref)) {
      if (ref.size() == 4) read_arguments(ref[3]);
      return members_.tensor(ref);
    }
    if (is_constant(ref)) {
      if (ref.size() >= 4) read_arguments(ref[3]);
      return ref[2].json();
    }
    if (ref.is_object()) {
      Json out = Json::object();
      for (const auto& [key, item] : ref.members()) out[key] = structure(item);
      return out;
    }
    if (!ref.is_array()) ref.fail("expected [\"layer\", 0, 0, {}], or lists of them, got " + ref.kind());
    Json out = Json::array();
    for (const Ref& item : ref.elements()) out.push_back(structure(item));
    return out;
  }

  /// Each tensor of the first argument is followed by a copy of the other arguments.
  void read_arguments(const Ref& ref) {
    if (ref.is_null()) return;
    for (const auto& [key, item] : ref.members()) {
      const Json read = value(item);
      if (!read.is_null()) arguments[key] = read;
    }
  }

  Json value(const Ref& ref) {
    if (is_tensor(ref) && members_.names().contains(ref[0].text())) return members_.tensor(ref);
    if (ref.is_array()) {
      Json out = Json::array();
      for (const Ref& item : ref.elements()) out.push_back(value(item));
      return out;
    }
    if (ref.is_object()) {
      Json out = Json::object();
      for (const auto& [key, item] : ref.members()) out[key] = value(item);
      return out;
    }
    return ref.json();
  }

  const Members& members_;
};

/// Returns the {args, kwargs} of a layer's call.
Json call_of(const std::string& class_name, Json first, Json arguments, const Json& more) {
  if (first.is_array() && first.size() == 1) first = Json(first.front());
  if (takes_initial_state(class_name) && first.is_array() && first.size() > 1) {
    Json states = Json::array();
    for (std::size_t i = 1; i < first.size(); ++i) states.push_back(first[i]);
    arguments["initial_state"] = std::move(states);
    first = Json(first.front());
  }
  Json kwargs = Json::object();
  for (auto it = arguments.begin(); it != arguments.end(); ++it) kwargs[it.key()] = as_argument(*it);
  for (auto it = more.begin(); it != more.end(); ++it) kwargs[it.key()] = *it;
  Json args = Json::array();
  args.push_back(as_argument(std::move(first)));
  return {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
}

/// Translates input_layers or output_layers; a list with one element becomes that element.
Json ends_of(const Ref& ref, const Members& members, const std::map<std::string, std::string>& classes) {
  if (is_tensor(ref)) {
    const std::string& name = ref[0].text();
    const auto found = classes.find(name);
    // Only here Keras 3 counts the calls of functional models from 1.
    const bool functional = found != classes.end() && is_functional_class(found->second);
    const std::int64_t node = index_of(ref[1]) - members.first_call(name) + (functional ? 1 : 0);
    return Json::array({name, node, index_of(ref[2])});
  }
  if (ref.is_object()) {
    Json out = Json::object();
    for (const auto& [key, item] : ref.members()) out[key] = ends_of(item, members, classes);
    return out;
  }
  ref.expect_array();
  if (ref.size() == 1) return ends_of(ref[0], members, classes);
  Json out = Json::array();
  for (const Ref& item : ref.elements()) out.push_back(ends_of(item, members, classes));
  return out;
}

Json Translator::functional(const Ref& config, const std::string& at) {
  const std::vector<Ref> layers = config["layers"].elements();
  const Members members(config, layers);
  OperationTranslator operations(members.names());
  std::map<std::string, std::string> classes;
  Json list = Json::array();
  const auto add = [&](Json json, const Ref& origin) {
    const std::string place = at + "/layers/" + std::to_string(list.size());
    if (place != origin.pointer()) origins_[place] = origin.pointer();
    list.push_back(std::move(json));
  };
  for (const Ref& ref : layers) {
    const std::string& name = ref["name"].text();
    const std::string class_name = classes[name] = class_of(ref);
    if (class_name == "AddLoss" || class_name == "AddMetric") continue;  // these layers belong to training
    const auto nodes = ref.find("inbound_nodes");
    if (is_operation_class(class_name)) {
      if (!nodes || nodes->size() != 1) ref.fail(fmt::format("expected one call of '{}'", printable(name)));
      NodeReader node(members);
      node.read((*nodes)[0]);
      for (Json& json : operations.translate(ref, node.first, node.arguments)) add(std::move(json), ref);
      continue;
    }
    const std::string place = at + "/layers/" + std::to_string(list.size());
    const bool model = is_functional_class(class_name) || class_name == "Sequential";
    auto [json, more] = model ? std::pair(layer(ref, place), Json::object()) : translated(ref, place);
    json["name"] = name;
    json["inbound_nodes"] = Json::array();
    if (nodes) {
      for (const Ref& call : nodes->elements()) {
        NodeReader node(members);
        node.read(call);
        json["inbound_nodes"].push_back(call_of(class_name, std::move(node.first), std::move(node.arguments), more));
      }
    }
    add(std::move(json), ref);
  }
  Json out = Json::object();
  out["name"] = config.find("name") ? config["name"].json() : Json("model");
  out["trainable"] = config.find("trainable") ? config["trainable"].json() : Json(true);
  out["layers"] = std::move(list);
  for (const char* key : {"input_layers", "output_layers"}) out[key] = ends_of(config[key], members, classes);
  return out;
}

/// Returns the input shape of a chain, which its first layer has, or that layer's first layer; empty if there is none.
std::optional<Ref> input_shape_of(const Ref& layer) {
  const Ref config = layer["config"];
  if (config.is_object()) {
    if (auto shape = config.find("batch_input_shape"); shape && !shape->is_null()) return shape;
  }
  const bool nested = class_of(layer) == "Sequential" || is_functional_class(class_of(layer));
  if (!nested) return std::nullopt;
  const Ref layers = config.is_array() ? config : config["layers"];
  return layers.is_array() && layers.size() > 0 ? input_shape_of(layers[0]) : std::nullopt;
}

Json Translator::sequential(const Ref& config, const std::string& at) {
  // Before 2.2.3 the config was only the list of layers.
  const Ref layers = config.is_array() ? config : config["layers"];
  layers.expect_array();
  Json list = Json::array();
  if (layers.size() > 0 && class_of(layers[0]) != "InputLayer") {
    if (const auto shape = input_shape_of(layers[0])) {
      const Ref first = layers[0]["config"];
      std::string name = "input";
      if (first.is_object() && first.find("name")) name = first["name"].text() + "_input";
      Json input = {{"batch_shape", shape->json()}, {"dtype", "float32"}, {"name", name}};
      if (first.is_object())
        if (const auto dtype = first.find("dtype"); dtype && dtype->is_string() && dtype_of(dtype->text()))
          input["dtype"] = dtype->json();
      list.push_back({{"module", "keras.layers"},
                      {"class_name", "InputLayer"},
                      {"config", std::move(input)},
                      {"registered_name", nullptr}});
    }
  }
  for (const Ref& ref : layers.elements()) {
    const std::string place = at + "/layers/" + std::to_string(list.size());
    if (place != ref.pointer()) origins_[place] = ref.pointer();
    list.push_back(layer(ref, place));
  }
  Json out = Json::object();
  out["name"] = config.is_object() && config.find("name") ? config["name"].json() : Json("sequential");
  out["layers"] = std::move(list);
  if (config.is_object())
    if (const auto shape = config.find("build_input_shape")) out["build_input_shape"] = shape->json();
  return out;
}

/// Returns whether the config has keys that only Keras 2 writes.
bool looks_like_keras2(const Ref& ref) {
  if (!ref.is_object()) return false;
  if (const auto nodes = ref.find("inbound_nodes"); nodes && nodes->is_array() && nodes->size() > 0)
    return (*nodes)[0].is_array();
  const auto config = ref.find("config");
  if (!config) return false;
  if (config->is_array()) return true;
  if (!config->is_object()) return false;
  if (config->find("batch_input_shape") && !config->find("batch_shape")) return true;
  const auto layers = config->find("layers");
  if (!layers || !layers->is_array()) return false;
  const std::vector<Ref> list = layers->elements();
  return std::any_of(list.begin(), list.end(), looks_like_keras2);
}

}  // namespace

bool is_keras2(const Ref& root, std::optional<Version> version) {
  root.expect_object();
  if (const auto stated = root.find("keras_version"); !version && stated && stated->is_string())
    version = version_of(stated->text());
  if (version) return *version < kOldest;
  if (const auto layers = root.find("layers"); layers && layers->is_array() && !root.find("class_name")) {
    const std::vector<Ref> list = layers->elements();
    return std::any_of(list.begin(), list.end(), looks_like_keras2);
  }
  return looks_like_keras2(root);
}

Translation translate_keras2(const Ref& root) {
  Translation out;
  Translator translator(out.origins);
  if (root.find("class_name")) {
    out.root = translator.layer(root, "");
  } else {
    out.root = root.find("input_layers") ? translator.functional(root, "") : translator.sequential(root, "");
  }
  return out;
}

}  // namespace attn::keras
