// The records of KerasHub's layers.
#pragma once

#include <string_view>

#include "classes/class_info.h"

namespace attn::keras {

/// Returns the record of a layer of a family; the arguments are the fields of the same names.
constexpr ClassInfo layer_record(std::string_view name, LayerPtr (*make)(), std::string_view module,
                                 Role role = Role::other, std::string_view symbols = "",
                                 std::string_view no_params = "") {
  return {.name = name,
          .make = make,
          .since = kAnyKeras,
          .module = module,
          .role = role,
          .symbols = symbols,
          .no_params = no_params};
}

}  // namespace attn::keras
