#include "byte_rows.h"

#include "kernel.h"

namespace attn::backends::cpu {
namespace {

constexpr auto kLine = static_cast<std::int64_t>(kAlignment);

std::int64_t stride_of(std::int64_t depth) { return (quads_of(depth) * 4 + kLine - 1) / kLine * kLine; }

}  // namespace

ByteRows::ByteRows(std::byte* at, std::int64_t rows, std::int64_t depth)
    : bytes_(reinterpret_cast<std::uint8_t*>(at)),
      scales_(reinterpret_cast<float*>(at + rows * stride_of(depth))),
      depth_(depth),
      stride_(stride_of(depth)) {}

std::int64_t ByteRows::bytes(std::int64_t rows, std::int64_t depth) {
  return bytes_times({rows, stride_of(depth)}) + bytes_times({rows, bytes_of(DType::float32)});
}

}  // namespace attn::backends::cpu
