#include "attn/keras/known_classes.h"

#include <algorithm>
#include <tuple>

#include "attn/keras/role.h"
#include "classes/class_table.h"
#include "families/blocks/layer_classes.h"
#include "families/families.h"

namespace attn::keras {
namespace {

std::vector<KnownClass> known(const ClassTable& table) {
  std::vector<KnownClass> out;
  for (const Family family : table.families())
    for (const ClassInfo& info : family) {
      // KerasHub registers some of its classes without a package.
      const std::string_view package = info.module.starts_with("keras_hub") ? "keras_hub" : info.package;
      out.push_back({info.name, info.shown, info.module, package, info.since.version, info.refused});
    }
  std::sort(out.begin(), out.end(), [](const KnownClass& a, const KnownClass& b) {
    return std::tuple(!a.refused.empty(), a.name) < std::tuple(!b.refused.empty(), b.name);
  });
  return out;
}

}  // namespace

std::vector<KnownClass> known_layers() { return known(layer_classes()); }
std::vector<KnownClass> known_operations() { return known(operation_classes()); }

Role role_of(std::string_view class_name) {
  if (const ClassInfo* info = layer_classes().find(class_name)) return info->role;
  if (const ClassInfo* info = operation_classes().find(class_name)) return info->role;
  return Role::other;
}

std::vector<KnownFamily> known_families() {
  std::vector<KnownFamily> out;
  for (const ModelFamily* family : model_families()) {
    if (family->models.empty()) continue;  // it has only tokenizers
    KnownFamily& known = out.emplace_back(KnownFamily{family->name, {}, {}, {}, {}});
    for (const ClassInfo& model : family->models) {
      if (model.name.ends_with("Encoder")) continue;  // a part of a backbone
      (model.name.ends_with("Backbone") ? known.backbones : known.tasks).push_back(model.name);
    }
    for (const tokenizers::KerasClass& tokenizer : family->tokenizer_classes)
      known.tokenizers.push_back(tokenizer.name);
    for (const HuggingFaceModel& model : family->hugging_face)
      if (std::ranges::find(known.model_types, model.model_type) == known.model_types.end())
        known.model_types.push_back(model.model_type);
  }
  std::ranges::sort(out, {}, &KnownFamily::name);
  return out;
}

}  // namespace attn::keras
