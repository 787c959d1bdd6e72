// Sizes and their names in the literature.
#pragma once

#include <string>

#include "attn/keras/summary.h"

namespace attn::keras {

/// A number with its name in the literature: (512, "d_model"). The name may be empty.
struct NamedNumber {
  Count value = 1;
  std::string symbol;
};

struct Symbol {
  std::string symbol;
  Count value = 0;
  std::string meaning;  ///< what the number counts: "heads"
};

}  // namespace attn::keras
