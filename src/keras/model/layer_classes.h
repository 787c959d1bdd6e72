// The table of layers, models among them.
#pragma once

#include "classes/class_table.h"

namespace attn::keras {

/// The table by which configs are read.
[[nodiscard]] const ClassTable& layer_classes();

}  // namespace attn::keras
