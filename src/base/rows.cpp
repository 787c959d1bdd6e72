#include "attn/base/rows.h"

#include <memory>
#include <utility>

namespace attn {

Tensor rows_view(const Tensor& array, std::int64_t first, std::int64_t count) {
  Shape shape = array.shape();
  const std::int64_t row = shape[0] == 0 ? 0 : array.bytes() / shape[0];
  shape[0] = count;
  return {array.dtype(), std::move(shape), std::shared_ptr<std::byte>(array.owner(), array.data() + first * row)};
}

}  // namespace attn
