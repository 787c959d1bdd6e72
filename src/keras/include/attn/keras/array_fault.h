// Arrays that do not fit each other.
#pragma once

#include <string>

namespace attn::keras {

struct ArrayFault {
  std::string input;  ///< the name of the input whose array is wrong
  std::string what;   ///< the fault and the way out, as text after "the input '…' "
};

}  // namespace attn::keras
