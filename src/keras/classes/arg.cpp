#include "classes/arg.h"

#include <algorithm>

namespace attn::keras {

void collect_tensors(const Arg& arg, std::vector<TensorPtr>& out) {
  if (const auto* tensor = arg.as<TensorPtr>()) {
    out.push_back(*tensor);
  } else if (const auto* list = arg.as<ArgList>()) {
    for (const Arg& item : *list) collect_tensors(item, out);
  } else if (const auto* dict = arg.as<ArgDict>()) {
    std::vector<const std::pair<std::string, Arg>*> sorted;
    for (const auto& item : *dict) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* item : sorted) collect_tensors(item->second, out);
  }
}

std::vector<TensorPtr> tensors_of(const Arg& arg) {
  std::vector<TensorPtr> out;
  collect_tensors(arg, out);
  return out;
}

}  // namespace attn::keras
