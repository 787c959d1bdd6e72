#include "attn/keras/role.h"
#include "classes/class_table.h"
#include "model/layer_classes.h"

namespace attn::keras {

Role role_of(std::string_view class_name) {
  if (const ClassInfo* info = layer_classes().find(class_name)) return info->role;
  if (const ClassInfo* info = operation_classes().find(class_name)) return info->role;
  return Role::other;
}

}  // namespace attn::keras
