#include "raw_tensor.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn::io {

std::optional<std::int64_t> byte_count(DType dtype, const std::vector<Dim>& dims) {
  std::int64_t bytes = bytes_of(dtype);
  bool empty = false;
  for (const Dim dim : dims) {
    empty = empty || dim == 0;
    const auto more = checked_mul(bytes, dim == 0 ? 1 : dim);
    if (!more) return std::nullopt;
    bytes = *more;
  }
  return empty ? 0 : bytes;
}

Tensor tensor_over(DType dtype, std::vector<Dim> dims, const Bytes& bytes, const std::string& place) {
  if (byte_count(dtype, dims) != bytes.size()) {
    throw internal_error("{}: a tensor with {} bytes, which do not match its shape", place, bytes.size());
  }
  if (dtype == DType::boolean) {
    const auto values = bytes.span();
    const auto wrong = std::find_if(values.begin(), values.end(), [](std::byte b) { return b > std::byte{1}; });
    if (wrong != values.end()) {
      throw bad_input("{}: element {} of a bool array is {}, neither 0 nor 1", place, wrong - values.begin(),
                      std::to_integer<int>(*wrong));
    }
  }
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data().get());
  const bool aligned = address % static_cast<std::uintptr_t>(bytes_of(dtype)) == 0;
  const bool shared = aligned && bytes.size() != 0;
  return {dtype, Shape(std::move(dims)), shared ? bytes.data() : Bytes::copy_of(bytes.span()).data()};
}

}  // namespace attn::io
