#include "attn/plan/bytes.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn::plan {

std::int64_t sum_of_bytes(std::initializer_list<std::int64_t> bytes) {
  std::int64_t sum = 0;
  for (const std::int64_t part : bytes) {
    const auto larger = checked_add(sum, part);
    if (!larger) throw Error(ExitCode::no_memory, fmt::format("{} and {} bytes are too large together", sum, part));
    sum = *larger;
  }
  return sum;
}

}  // namespace attn::plan
