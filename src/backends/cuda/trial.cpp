#include "trial.h"

#include <cstdlib>

namespace attn::cuda {

bool is_tried(std::string_view kernel) {
  const char* const given = std::getenv("ATTN_CUDA_TRIAL");
  for (std::string_view rest = given == nullptr ? "" : given; !rest.empty();) {
    const std::size_t end = rest.find(',');
    if (rest.substr(0, end) == kernel) return true;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
}

}  // namespace attn::cuda
