#include "attn/weights/file_names.h"

#include <map>
#include <string_view>

namespace attn::weights {

using graph::WeightSpec;

std::vector<std::string> file_names(std::span<const WeightSpec> specs) {
  std::map<std::string_view, int> uses;
  for (const WeightSpec& spec : specs) ++uses[spec.path];
  std::vector<std::string> out;
  out.reserve(specs.size());
  for (const WeightSpec& spec : specs) out.push_back(uses[spec.path] == 1 ? spec.path : spec.store_path);
  return out;
}

}  // namespace attn::weights
