#include "frontends/read_model.h"

#include "attn/base/text.h"
#include "classes/class_table.h"
#include "classes/custom_layer.h"
#include "classes/reading.h"
#include "families/blocks/layer_classes.h"
#include "frontends/encoder_config.h"
#include "frontends/hidden_quantization.h"
#include "frontends/hugging_face/read_config.h"
#include "frontends/keras2/histories.h"
#include "frontends/keras2/translate.h"
#include "frontends/tied_embeddings.h"
#include "model/model_lowering.h"
#include "model/sequential.h"
#include "model/single_layer.h"
#include "model/variables.h"

namespace attn::keras {
namespace {

constexpr const char* kHasInputShape = "the model has its own input shapes, so the given one is ignored";

/// Returns the total size in bytes of the full names of a layer and all layers below it.
std::size_t full_name_bytes(Layer& layer, std::size_t around) {
  const std::size_t own = around + layer.name.size();
  std::size_t bytes = own;
  for (const Layer::Sublayer& sub : layer.sublayers()) bytes += full_name_bytes(*sub.layer, own + 1);
  return bytes;
}

/// Returns the input shape of a layer in its build_config, without the batch.
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

/// Returns the class of a bare config: the one whose name begins its "name", otherwise the only one that accepts its
/// keys.
std::string class_of_bare_config(const Ref& config) {
  if (config.find("layers")) return config.find("input_layers") ? "Functional" : "Sequential";
  std::vector<std::string> fitting;
  const ThrowGuard trying(config.document());
  for (const std::string_view class_name : config.document().layers().names()) {
    std::vector<std::string> ignored;
    try {
      const LayerPtr layer = read_layer_config(class_name, config, ignored);
      const std::string stem = snake_case(layer->class_name());
      const auto name = config.find("name");
      config.document().forget_foreign_keys();
      if (name && name->is_string() && (name->text() == stem || name->text().rfind(stem + "_", 0) == 0))
        return std::string(class_name);
      fitting.emplace_back(class_name);
    } catch (const Error&) {  // not this class
    }
    config.document().forget_foreign_keys();
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty())
    config.fail(
        "neither a Keras model nor a layer: expected an object with 'class_name' and 'config', the config of a layer, "
        "or the short encoder config with 'input_shape'");
  if (fitting.size() > 6) fitting.resize(6);
  config.fail("the config of a layer without its class; expected {\"class_name\": …, \"config\": …}; it could be " +
              join(fitting, ", "));
}

}  // namespace

namespace {

using Hints = std::map<std::string, std::shared_ptr<const StoredQuantization>, std::less<>>;

/// Returns the quantization that the option `quantize` requests.
std::shared_ptr<const Quantization> asked_of(const ReadOptions& options) {
  if (!options.quantize) return nullptr;
  auto how = Quantization::named(*options.quantize);
  if (how && how->mode == QuantizationMode::int4 && !how->names_group) how = Quantization::named("int4/128");
  const bool fits = how && (how->mode == QuantizationMode::int8 || how->mode == QuantizationMode::int4);
  if (!fits)
    throw bad_usage("quantizing to '{}': expected int8, int4, or int4 with a block as in int4:64",
                    printable(*options.quantize))
        .about("quantize");
  return std::make_shared<const Quantization>(*how);
}

ReadModel read_once(const std::string& source, std::string text, const ReadOptions& options,
                    std::vector<Problem>* problems, const Hints& hints) {
  ReadModel out;
  out.document = std::make_unique<Document>(source, std::move(text), &layer_classes());
  out.document->collect(problems);
  out.document->set_keras_version(options.keras_version.value_or(0));
  out.document->set_stored(hints);
  out.document->ask(asked_of(options));
  out.older_fans = options.keras_version && *options.keras_version < kEinsumFans;
  if (const Ref read(*out.document); !is_encoder_config(read) && is_keras2(read, options.keras_version)) {
    Translation translation = translate_keras2(read);
    out.expanded =
        std::make_unique<Document>(*out.document, std::move(translation.root), std::move(translation.origins), true);
  }
  if (const Ref read(*out.document); is_hugging_face(read)) {
    const EmbedderSettings* const embedder = options.embedder ? &*options.embedder : nullptr;
    Translation translation = translate_hugging_face(read, options.as_keras_hub, embedder, out.warnings);
    out.expanded =
        std::make_unique<Document>(*out.document, std::move(translation.root), std::move(translation.origins), false);
  }
  if (options.tie_word_embeddings.value_or(false)) {
    if (auto tied = with_tied_embeddings(Ref(*out.document)))
      out.expanded = std::make_unique<Document>(*out.document, std::move(tied->root), std::move(tied->origins), false);
  }
  const Ref root(out.file());
  std::optional<Shape> shape = options.input_shape;
  if (is_encoder_config(root)) {
    Translation expanded = expand_encoder_config(root, out.warnings);
    out.from_encoder_config = true;
    if (options.input_shape) out.warnings.emplace_back(kHasInputShape);
    out.expanded =
        std::make_unique<Document>(*out.document, std::move(expanded.root), std::move(expanded.origins), false);
    out.root = read_layer(Ref(*out.expanded), out.warnings);
    root.document().stop_after_problems(0);
    return out;
  }
  if (root.find("class_name") && root.find("config")) {
    out.root = read_layer(root, out.warnings);
    if (!shape) shape = built_shape(root);
  } else {
    out.root = read_layer_config(class_of_bare_config(root), root, out.warnings);
    if (out.root->is_functional()) {
      out.model()->connect();
      out.model()->build_symbolic();
    }
  }
  root.document().stop_after_problems(0);
  if (out.root->is_operation()) root.fail("a single operation is not a model");
  if (full_name_bytes(*out.root, 0) > kMostNameBytes) root.fail(too_long_names());
  out.older_fans = out.older_fans || root.document().is_keras2();
  if (const std::string foreign = root.document().foreign_keys(); !foreign.empty()) out.warnings.push_back(foreign);
  if (root.document().is_keras2() && out.model() != nullptr) complete_histories(*out.model());
  if (auto* sequential = dynamic_cast<Sequential*>(out.root.get());
      sequential != nullptr && !sequential->connected && shape) {
    Shape whole{kUnknown};
    whole.append(*shape);
    sequential->build_chain(whole);
    sequential->build_symbolic();
  } else if (options.input_shape && out.root->is_model()) {
    out.warnings.emplace_back(kHasInputShape);
  }
  if (!out.root->is_model()) {
    out.single = out.root.get();
    if (shape && as_custom(*out.root) == nullptr) out.root = model_around(std::move(out.root), *shape);
  }
  return out;
}

/// Passes the archive's data to layers.
void take_assets(const ReadModel& read, const std::string& source, const ReadOptions& options) {
  if (!options.asset || read.model() == nullptr || !read.model()->connected) return;
  std::optional<std::vector<NamedTensor>> stored;  // read once, when the first layer requests an array
  visit_places(*read.root, [&](Layer& layer, const std::string& store) {
    Assets assets;
    assets.place = source.substr(0, source.rfind(':') + 1) + "assets/" + store;
    assets.text = [&](const std::string& name) { return options.asset(store + name); };
    assets.array = [&](const std::string& name) -> std::optional<Tensor> {
      if (!stored) stored = options.stored ? options.stored() : std::vector<NamedTensor>();
      for (const NamedTensor& array : *stored)
        if (array.name == store + "vars/" + name) return array.tensor;
      return std::nullopt;
    };
    layer.take_assets(assets);
  });
}

}  // namespace

ReadModel read_model(const std::string& source, std::string text, const ReadOptions& options,
                     std::vector<Problem>* problems) {
  if (problems != nullptr) return read_once(source, std::move(text), options, problems, {});
  ReadModel out = read_once(source, text, options, nullptr, {});
  if (options.stored && out.model() != nullptr && out.model()->connected) {
    const Hints hints = hidden_quantization(*out.root, options);
    if (!hints.empty()) out = read_once(source, std::move(text), options, nullptr, hints);
  }
  take_assets(out, printable(source), options);
  return out;
}

ReadModel read_layer_call(const std::string& class_name,
                          const std::vector<std::pair<std::string, std::string>>& arguments) {
  // The values of the pairs stay strings here: Document parses them with its limits.
  std::string config;
  for (const auto& [key, value] : arguments) {
    config += config.empty() ? "{" : ", ";
    config += to_json_text(Json(key)) + ": " + (Json::accept(value) ? value : to_json_text(Json(value)));
  }
  ReadModel out;
  out.document = std::make_unique<Document>(class_name, config.empty() ? "{}" : config + "}", &layer_classes());
  out.root = read_layer_config(class_name, Ref(*out.document), out.warnings);
  out.single = out.root.get();
  return out;
}

}  // namespace attn::keras
