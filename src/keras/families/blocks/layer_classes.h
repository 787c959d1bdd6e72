// The table of layers, including models.
#pragma once

#include "classes/class_table.h"

namespace attn::keras {

/// The table for reading configs.
[[nodiscard]] const ClassTable& layer_classes();

}  // namespace attn::keras
