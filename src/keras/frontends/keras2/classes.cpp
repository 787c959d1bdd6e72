#include "frontends/keras2/classes.h"

#include <algorithm>
#include <array>
#include <span>

#include "attn/base/text.h"
#include "classes/layer.h"
#include "config/activation.h"
#include "config/dtype_policy.h"
#include "config/foreign_class.h"
#include "families/blocks/layer_classes.h"

namespace attn::keras {
namespace {

// The Keras 2 keys of any layer: its input shape, which Keras 3 stores in InputLayer, and the kind of random generator
// in training.
constexpr std::array kKeysOfAnyLayer = {Keras2Key{"batch_input_shape"}, Keras2Key{"rng_type"}};

struct Refused {
  std::string_view class_name, why;
};
constexpr std::array kRefused = {
    Refused{"CuDNNLSTM",
            "its weights are laid out for cuDNN; load the model with tf_keras into a model with LSTM in its "
            "place (Keras converts the weights) and save that"},
    Refused{"CuDNNGRU",
            "its weights are laid out for cuDNN; load the model with tf_keras into a model with GRU in its "
            "place (Keras converts the weights) and save that"},
    Refused{"LocallyConnected1D", "Keras 3 has no such layer"},
    Refused{"LocallyConnected2D", "Keras 3 has no such layer"},
    Refused{"DenseFeatures", "Keras 3 has no such layer"},
    Refused{"TensorFlowOpLayer",
            "it holds a TensorFlow graph; open the model with a tf.keras of 2.4 or newer and save it "
            "again, so that its operations are named"},
    Refused{"ClassMethod", "it calls a method of TensorFlow by its name; write it with layers or keras.ops"},
    Refused{"InstanceMethod", "it calls a method of TensorFlow by its name; write it with layers or keras.ops"},
    Refused{"InstanceProperty", "it reads a property of a TensorFlow object; write it with layers or keras.ops"},
};

/// Returns the Keras 3 class that replaces a Keras 2 class; null if it is unsupported.
const ClassInfo* successor(std::string_view class_name) {
  for (const Family family : layer_classes().families())
    for (const ClassInfo& info : family) {
      if (info.name == class_name) return &info;
      if (info.keras2_names.empty()) continue;
      const std::vector<std::string> names = split(info.keras2_names, ' ');
      if (std::find(names.begin(), names.end(), class_name) != names.end()) return &info;
    }
  return nullptr;
}

const Keras2Key* find_key(std::span<const Keras2Key> keys, std::string_view name) {
  for (const Keras2Key& key : keys)
    if (key.name == name) return &key;
  return nullptr;
}

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }

/// Returns {module, class_name, config, registered_name}, the form in which Keras 3 serializes objects.
Json object(std::string_view module, const std::string& class_name, Json config) {
  return {{"module", module}, {"class_name", class_name}, {"config", std::move(config)}, {"registered_name", nullptr}};
}

/// Returns a custom object in the form of Keras 3, which marks it by its registered name. Keras 2 writes only the
/// class.
std::optional<Json> custom(const Ref& ref, const std::string& class_name) {
  if (custom_object(ref)) return ref.json();
  if (ref.find("module") || is_inert_class(class_name)) return std::nullopt;
  Json out = object("", class_name, Json::object());
  if (const auto config = ref.find("config")) out["config"] = config->json();
  out["module"] = nullptr;
  out["registered_name"] = class_name;
  return out;
}

/// Converts an initializer, regularizer or constraint: a name, or an object that may lack its module.
Json plain_object(const Ref& ref, std::string_view module) {
  if (!ref.is_object() || ref.find("module")) return ref.json();
  const auto class_name = ref.find("class_name");
  const auto config = ref.find("config");
  if (!class_name || !config) return ref.json();
  if (auto own = custom(ref, class_name->text())) return *own;
  return object(module, class_name->text(), config->json());
}

Json initializer(const Ref& ref) {
  if (!ref.is_object()) return ref.json();
  std::string class_name = ref["class_name"].text();
  if (ends_with(class_name, "V2") || ends_with(class_name, "V1")) class_name.resize(class_name.size() - 2);
  if (auto own = custom(ref, class_name)) return *own;
  Json config = Json::object();
  if (const auto given = ref.find("config"); given && given->is_object()) {
    for (const auto& [key, value] : given->members()) {
      if (key == "dtype" || key == "partition_info" || key == "verify_shape") continue;  // keys from TensorFlow 1
      config[key] = value.json();
    }
  }
  if (config.contains("distribution") && config["distribution"] == "normal")
    config["distribution"] = "truncated_normal";
  return object("keras.initializers", class_name, std::move(config));
}

/// Names of TensorFlow functions that Keras 2 may have written for its own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kActivationNames = {
    {{"softmax_v2", "softmax"},
     {"log_softmax_v2", "log_softmax"},
     {"swish", "silu"},
     {"hard_sigmoid", kKeras2HardSigmoid}}};

Json activation_name(const std::string& name) {
  for (const auto& [old, now] : kActivationNames)
    if (name == old) return std::string(now);
  return name;
}

Json activation(const Ref& ref, const NestedLayer& nested) {
  if (ref.is_string()) return activation_name(ref.text());
  if (!ref.is_object()) return ref.json();
  const std::string& class_name = ref["class_name"].text();
  if (class_name != "function") return nested(ref);
  const Ref name = ref["config"];
  return name.is_string() ? activation_name(name.text()) : ref.json();
}

Json dtype(const Ref& ref) {
  const Ref name = ref.is_object() ? ref["config"]["name"] : ref;
  // "infer" means the input's dtype, which is float32 unless a model states otherwise.
  if (name.is_string() && name.text().starts_with("infer")) return DTypePolicy().json();
  return DTypePolicy::read(ref).json();
}

Json list_of_layers(const Ref& ref, const NestedLayer& nested) {
  Json out = Json::array();
  for (const Ref& item : ref.elements()) out.push_back(nested(item));
  return out;
}

/// Converts the value of a key that Keras 3 has.
Json value_of(const std::string& key, const Ref& ref, const NestedLayer& nested) {
  if (ref.is_null()) return nullptr;
  if (key == "activation" || key == "recurrent_activation") return activation(ref, nested);
  if (ends_with(key, "_initializer")) return initializer(ref);
  if (ends_with(key, "_regularizer")) return plain_object(ref, "keras.regularizers");
  if (ends_with(key, "_constraint")) return plain_object(ref, "keras.constraints");
  if (key == "dtype") return dtype(ref);
  if (key == "layer" || key == "backward_layer" || key == "cell") return nested(ref);
  if (key == "cells") return list_of_layers(ref, nested);
  return ref.json();
}

void check_dropped(std::string_view class_name, const Keras2Key& key, const Ref& value) {
  if (key.only.empty() || value.is_null() || value.json() == Json::parse(key.only)) return;
  value.fail(fmt::format("Keras 3's {} has no '{}': only {} is accepted, got {}", class_name, key.name, key.only,
                         value.kind()));
}

/// Keras 2 writes a list with one axis; Keras 3 accepts only a single axis.
void unlist_axis(const Ref& config, Json& out) {
  const auto axis = config.find("axis");
  if (!axis || !axis->is_array()) return;
  if (axis->size() != 1) axis->fail("Keras 3 normalizes batches over one axis, got " + std::to_string(axis->size()));
  out["axis"] = (*axis)[0].json();
}

}  // namespace

bool takes_initial_state(std::string_view class_name) {
  const ClassInfo* info = successor(class_name);
  if (info == nullptr || info->make == nullptr) return false;
  const LayerPtr layer = info->make();
  const std::span<const std::string_view> arguments = layer->arguments();
  return std::find(arguments.begin(), arguments.end(), "initial_state") != arguments.end();
}

TranslatedClass translate_class(std::string_view class_name, const Ref& place, const Ref& config,
                                const NestedLayer& nested) {
  for (const Refused& refused : kRefused)
    if (refused.class_name == class_name)
      place.fail(fmt::format("Keras 2's layer '{}' cannot be read: {}", class_name, refused.why));
  const ClassInfo* info = successor(class_name);
  const std::span<const Keras2Key> keys = info == nullptr ? std::span<const Keras2Key>() : info->keras2_keys;
  TranslatedClass out;
  out.class_name = info == nullptr ? class_name : info->name;
  out.config = Json::object();
  config.expect_object();
  for (const auto& [key, value] : config.members()) {
    const Keras2Key* known = find_key(keys, key);
    if (known == nullptr) known = find_key(kKeysOfAnyLayer, key);
    if (known == nullptr || !known->renamed.empty()) {
      const std::string name = known == nullptr ? key : std::string(known->renamed);
      // An input has a dtype instead of a policy; a null activity regularizer is omitted.
      if (info != nullptr && info->role == Role::input && key == "dtype") {
        out.config[name] = value.json();
      } else if (key != "activity_regularizer" || !value.is_null()) {
        out.config[name] = value_of(name, value, nested);
      }
    } else {
      check_dropped(class_name, *known, value);
      if (!known->argument.empty() && value.boolean()) out.call_arguments[std::string(known->argument)] = true;
    }
  }
  if (out.class_name == "BatchNormalization") unlist_axis(config, out.config);
  if (class_name == "SyncBatchNormalization") out.config["synchronized"] = true;
  return out;
}

}  // namespace attn::keras
