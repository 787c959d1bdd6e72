#include "trial.h"

#include <algorithm>
#include <cstdlib>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cuda {
namespace {

constexpr std::string_view kOnTrial[] = {"small-product", "small-linear", "sm90-pair"};

}  // namespace

bool is_tried(std::string_view kernel) {
  const char* const given = std::getenv("ATTN_CUDA_TRIAL");
  bool is_named = false;
  for (std::string_view rest = given == nullptr ? "" : given; !rest.empty();) {
    const std::size_t end = rest.find(',');
    const std::string_view name = rest.substr(0, end);
    if (std::ranges::find(kOnTrial, name) == std::ranges::end(kOnTrial)) {
      throw bad_usage("ATTN_CUDA_TRIAL '{}': expected small-product, small-linear or sm90-pair, separated by commas",
                      printable(name));
    }
    is_named = is_named || name == kernel;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return is_named;
}

}  // namespace attn::cuda
