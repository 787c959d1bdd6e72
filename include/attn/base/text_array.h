// Strings in the shape of a tensor.
#pragma once

#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn {

/// Dense, row-major. The strings are bytes, which need not be UTF-8.
struct TextArray {
  Shape shape;
  std::vector<std::string> values;  ///< as many as the shape has elements
};

struct NamedTexts {
  std::string name;
  TextArray texts;
};

}  // namespace attn
