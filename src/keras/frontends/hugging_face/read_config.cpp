#include "frontends/hugging_face/read_config.h"

#include <utility>

#include "attn/base/text.h"
#include "families/families.h"

namespace attn::keras {
namespace {

const HuggingFaceModel& model_of(const Ref& root, bool as_keras_hub) {
  const Ref type = root["model_type"];
  const HuggingFaceModel* found = nullptr;
  std::vector<std::string_view> known;
  for (const ModelFamily* family : model_families()) {
    for (const HuggingFaceModel& model : family->hugging_face) {
      known.push_back(model.model_type);
      if (model.model_type != type.text()) continue;
      if (found == nullptr) found = &model;
      if (model.is_needed != nullptr && model.is_needed(ConfigMap(root, as_keras_hub))) return model;
    }
  }
  if (found != nullptr) return *found;
  type.fail(
      fmt::format("the model type '{}' is not known{}", shortened(type.text()), did_you_mean(type.text(), known)));
}

Json object_of(const std::string& class_name, Json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}, {"registered_name", "keras_hub>" + class_name}};
}

/// The number of classes of a classifier.
std::int64_t classes_in(const Ref& root) {
  if (const auto labels = root.find("id2label"); labels && labels->is_object() && labels->size() > 0)
    return static_cast<std::int64_t>(labels->size());
  const auto count = root.find("num_labels");
  return count ? count->integer_from(1) : 2;
}

const Head* head_of_architecture(const HuggingFaceModel& model, std::string_view architecture) {
  for (const Head& head : model.heads)
    if (architecture.ends_with(head.architecture)) return &head;
  return nullptr;
}

/// The task for the suffix of the architecture; null if KerasHub's family has no such class.
const Head* head_of(const Ref& root, const HuggingFaceModel& model, std::vector<std::string>& warnings) {
  const auto list = root.find("architectures");
  if (!list || !list->is_array() || list->size() == 0) return nullptr;
  const std::string& name = (*list)[0].text();
  if (name == std::string(model.architecture) + "Model") return nullptr;
  if (const Head* const head = head_of_architecture(model, name)) return head->task == kBackboneHead ? nullptr : head;
  warnings.push_back(fmt::format("{}: KerasHub has no head like that of {}; this is the backbone",
                                 root.document().source(), shortened(name)));
  return nullptr;
}

/// Returns whether KerasHub's embedder has what follows the pooling.
bool has_ending(const HuggingFaceModel& model, const EmbedderSettings& embedder) {
  constexpr std::size_t kProjections = 2;
  if (embedder.dense_units.empty()) return true;
  return model.has_projections && embedder.dense_units.size() == kProjections && embedder.normalize &&
         embedder.pooling_mode == "mean";
}

/// Returns the head of a text embedder; null, with a warning, if KerasHub's family has no such class.
const Head* embedder_of(const Ref& root, const HuggingFaceModel& model, const EmbedderSettings& embedder,
                        std::vector<std::string>& warnings) {
  static constexpr Head kEmbedder{"", "TextEmbedder"};
  const std::string name = std::string(model.stem) + std::string(kEmbedder.task);
  for (const ModelFamily* family : model_families())
    for (const ClassInfo& known : family->models)
      if (known.name == name && has_ending(model, embedder)) return &kEmbedder;
  warnings.push_back(fmt::format("{}: KerasHub has no {}{}; this is the backbone without the pooling",
                                 root.document().source(), name,
                                 embedder.dense_units.empty() ? "" : " with these dense layers"));
  return nullptr;
}

}  // namespace

bool is_hugging_face(const Ref& root) {
  if (!root.is_object() || root.find("class_name")) return false;
  const auto type = root.find("model_type");
  return type && type->is_string();
}

Translation translate_hugging_face(const Ref& root, bool as_keras_hub, const EmbedderSettings* embedder,
                                   std::vector<std::string>& warnings) {
  const HuggingFaceModel& model = model_of(root, as_keras_hub);
  ConfigMap map(root, as_keras_hub, model.is_converted);
  model.sizes(map);
  if (embedder != nullptr && !embedder->dense_units.empty() && has_ending(model, *embedder)) {
    map.put("is_embedding_model", true);
    map.put("pooling_intermediate_dim", embedder->dense_units[0]);
    map.put("embedding_dim", embedder->dense_units[1]);
  }
  Json backbone = object_of(std::string(model.stem) + "Backbone", std::move(map.result()));
  Translation out;
  const Head* const head =
      embedder != nullptr ? embedder_of(root, model, *embedder, warnings) : head_of(root, model, warnings);
  std::string at = "/config";
  if (head == nullptr) {
    out.root = std::move(backbone);
  } else {
    Json config = {{"backbone", std::move(backbone)}, {"preprocessor", nullptr}};
    if (head->task.ends_with("Classifier")) {
      config["num_classes"] = classes_in(root);
      out.origins["/config/num_classes"] = "/id2label";
    }
    if (embedder != nullptr)
      config.update({{"pooling_mode", embedder->pooling_mode}, {"normalize", embedder->normalize}});
    out.root = object_of(std::string(model.stem) + std::string(head->task), std::move(config));
    at = "/config/backbone/config";
  }
  out.origins[""] = "";
  out.origins["/class_name"] = head == nullptr ? "/model_type" : "/architectures";
  out.origins[at] = "";
  if (head != nullptr) out.origins["/config/backbone"] = "";
  if (head != nullptr) out.origins["/config/backbone/class_name"] = "/model_type";
  for (const auto& [key, origin] : map.origins()) out.origins[at + key] = origin;
  return out;
}

}  // namespace attn::keras
