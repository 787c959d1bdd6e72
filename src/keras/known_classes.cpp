#include "attn/keras/known_classes.h"

#include <algorithm>
#include <tuple>

#include "attn/keras/role.h"
#include "classes/class_table.h"
#include "families/blocks/layer_classes.h"

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

}  // namespace attn::keras
