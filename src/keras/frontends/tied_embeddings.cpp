#include "frontends/tied_embeddings.h"

#include <string>

namespace attn::keras {
namespace {

constexpr const char* kKey = "tie_word_embeddings";

bool is_llama(const Json& json) {
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string()) return false;
  const auto& name = json["class_name"].get_ref<const std::string&>();
  return name == "LlamaBackbone" || name == "Llama3Backbone";
}

/// The config of the backbone (the root, or that of a task); null if there is none.
Json* config_of_backbone(Json& root) {
  Json* backbone = &root;
  if (!is_llama(root)) {
    const Json::json_pointer inside("/config/backbone");
    if (!root.is_object() || !root.contains(inside)) return nullptr;
    backbone = &root[inside];
  }
  if (!is_llama(*backbone) || !backbone->contains("config")) return nullptr;
  Json& config = (*backbone)["config"];
  return config.is_object() && !config.contains(kKey) ? &config : nullptr;
}

}  // namespace

std::optional<Translation> with_tied_embeddings(const Ref& root) {
  Translation out{root.json(), {{"", ""}}};
  Json* const config = config_of_backbone(out.root);
  if (config == nullptr) return std::nullopt;
  (*config)[kKey] = true;
  return out;
}

}  // namespace attn::keras
