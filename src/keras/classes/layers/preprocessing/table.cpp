#include "classes/layers/preprocessing/table.h"

#include "attn/base/error.h"

namespace attn::keras {

void check_table(const Shape& shape, std::string_view what) {
  constexpr double kMost = 1 << 27;
  double count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) count *= static_cast<double>(shape[axis]);
  if (count > kMost)
    throw Error(ExitCode::no_memory,
                fmt::format("a table of {} would have the shape {}, and more than 2^27 numbers", what, shape.str()));
}

Tensor table(DType dtype, const Shape& shape, std::string_view what) {
  check_table(shape, what);
  return {dtype, shape};
}

}  // namespace attn::keras
