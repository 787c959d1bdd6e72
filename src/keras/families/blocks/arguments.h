// Constructor arguments from the fields of a config.
#pragma once

#include "attn/keras/version.h"
#include "config/fields.h"

namespace attn::keras {

/// Returns the fields of a part of a config as constructor arguments.
template <typename Part>
[[nodiscard]] Json arguments_of(Part& part) {
  Json out = Json::object();
  Fields f(out, kNewest);
  part.fields(f);
  return out;
}

}  // namespace attn::keras
