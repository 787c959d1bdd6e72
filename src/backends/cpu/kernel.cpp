#include "kernel.h"

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn::backends::cpu {

std::int64_t bytes_times(std::initializer_list<std::int64_t> factors) {
  const auto product = checked_product(factors);
  if (!product) throw Error(ExitCode::no_memory, "the model's memory does not fit a number of bytes");
  return *product;
}

}  // namespace attn::backends::cpu
