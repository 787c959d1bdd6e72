#include "frontends/tied_embeddings.h"

#include <string>

#include "families/families.h"

namespace attn::keras {
namespace {

constexpr const char* kKey = "tie_word_embeddings";

/// Returns whether a config of this class may omit that the embeddings are tied.
bool hides_tying(const Json& json) {
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string()) return false;
  const auto& name = json["class_name"].get_ref<const std::string&>();
  const ModelFamily* const family = family_of_model(name);
  return family != nullptr && family->hides_tying && name.ends_with("Backbone");
}

/// Returns the config of the backbone (the root, or that of a task); null if there is none.
Json* config_of_backbone(Json& root) {
  Json* backbone = &root;
  if (!hides_tying(root)) {
    const Json::json_pointer inside("/config/backbone");
    if (!root.is_object() || !root.contains(inside)) return nullptr;
    backbone = &root[inside];
  }
  if (!hides_tying(*backbone) || !backbone->contains("config")) return nullptr;
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
