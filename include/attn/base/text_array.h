// Strings in the shape of a tensor.
#pragma once

#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn {

/// Dense and row-major. The strings are bytes, which need not be UTF-8.
struct TextArray {
  Shape shape;
  std::vector<std::string> values;  ///< one string per element of the shape
};

struct NamedTexts {
  std::string name;
  TextArray texts;
};

}  // namespace attn
