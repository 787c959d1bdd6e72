// Classes of a model that attn does not have.
#pragma once

#include "attn/keras/model.h"
#include "output/console.h"

namespace attn::cli {

/// Warns that custom classes are shown but do not run, and that parameters are missing in the file.
void warn_of_custom_classes(const keras::Model& model, const Console& console);

}  // namespace attn::cli
