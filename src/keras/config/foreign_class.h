// Objects of somebody else's classes in a config.
#pragma once

#include <optional>
#include <string>

#include "config/json.h"

namespace attn::keras {

/// What names somebody else's code, and the sentence that refuses it.
struct Foreign {
  Ref place;
  std::string why;
};

/// Does a serialized object name a module or a registration of somebody else's code?
[[nodiscard]] std::optional<Foreign> foreign_class(const Ref& object);

}  // namespace attn::keras
