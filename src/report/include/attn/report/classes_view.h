// The supported Keras classes, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/known_classes.h"
#include "attn/report/format.h"

namespace attn::report {

struct KnownClasses {
  std::vector<keras::KnownClass> classes;
};

/// table: names by the Keras version that added them, then unsupported ones by reason; json ("attn.classes/1")
[[nodiscard]] std::string render(Format format, const KnownClasses& known);

struct KnownFamilies {
  std::vector<keras::KnownFamily> families;
};

/// table: a row for each family; json ("attn.families/1")
[[nodiscard]] std::string render(Format format, const KnownFamilies& known);

}  // namespace attn::report
