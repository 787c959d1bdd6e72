// The classes of Keras that attn knows, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/known_classes.h"
#include "attn/report/format.h"

namespace attn::report {

struct KnownClasses {
  std::vector<keras::KnownClass> classes;
};

/// table: names by the Keras that brought them, then those that are refused by the reason; json ("attn.classes/1")
[[nodiscard]] std::string render(Format format, const KnownClasses& known);

}  // namespace attn::report
