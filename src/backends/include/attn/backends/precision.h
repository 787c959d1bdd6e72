// The names of precisions of matrix products.
#pragma once

#include <string>

#include "attn/backends/backend.h"

namespace attn::backends {

/// "highest", "high" or "medium".
[[nodiscard]] inline std::string name_of(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::highest:
      return "highest";
    case MatmulPrecision::high:
      return "high";
    case MatmulPrecision::medium:
      return "medium";
  }
  return "?";
}

}  // namespace attn::backends
