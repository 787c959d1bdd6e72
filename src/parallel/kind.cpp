#include "attn/parallel/kind.h"

namespace attn::parallel {

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::data:
      return "data";
    case Kind::tensor:
      return "tensor";
    case Kind::sequence:
      break;
  }
  return "sequence";
}

}  // namespace attn::parallel
