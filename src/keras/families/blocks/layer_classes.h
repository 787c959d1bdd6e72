// The table of layers, including models.
#pragma once

#include "classes/class_table.h"

namespace attn::keras {

/// Returns the table of all layer classes, by which configs are read.
[[nodiscard]] const ClassTable& layer_classes();

}  // namespace attn::keras
