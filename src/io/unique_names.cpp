#include "unique_names.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {

void check_unique_names(std::span<const NamedTensor> tensors, const std::string& path) {
  std::vector<std::string_view> names;
  for (const NamedTensor& named : tensors) names.push_back(named.name);
  check_unique_names(std::move(names), path);
}

void check_unique_names(std::vector<std::string_view> names, const std::string& path) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw bad_input("{}: two arrays would have the name '{}'", printable(path), printable(*twice));
  }
}

}  // namespace attn::io
