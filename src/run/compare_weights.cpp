#include "attn/run/compare_weights.h"

#include <algorithm>
#include <map>

namespace attn::run {
namespace {

PairedArray compared(const NamedTensor& a, const Tensor& b, const Tolerance& tolerance) {
  PairedArray out;
  out.name = a.name;
  out.shape_a = a.tensor.shape();
  out.shape_b = b.shape();
  out.dtype_a = a.tensor.dtype();
  out.dtype_b = b.dtype();
  if (out.shape_a != out.shape_b) return out;
  out.values = compare(a.name, a.tensor, b, tolerance);
  out.similarity = similarity(a.tensor, b);
  const bool exact = tolerance.rtol == 0 && tolerance.atol == 0;
  out.equal = out.values->pass && (!exact || out.dtype_a == out.dtype_b);
  return out;
}

}  // namespace

bool WeightsComparison::equal() const {
  return only_a.empty() && only_b.empty() &&
         std::all_of(both.begin(), both.end(), [](const PairedArray& pair) { return pair.equal; });
}

WeightsComparison compare_weights(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b,
                                  const Tolerance& tolerance, const Advance& advance) {
  std::map<std::string_view, const Tensor*> of_b;
  for (const NamedTensor& array : b) of_b.emplace(array.name, &array.tensor);
  WeightsComparison out;
  for (const NamedTensor& array : a) {
    const auto found = of_b.find(array.name);
    if (found == of_b.end()) {
      out.only_a.push_back({array.name, array.tensor.shape(), array.tensor.dtype()});
    } else {
      out.both.push_back(compared(array, *found->second, tolerance));
      of_b.erase(found);
    }
    if (advance) advance(static_cast<double>(array.tensor.size()));
  }
  for (const NamedTensor& array : b)
    if (of_b.contains(array.name)) out.only_b.push_back({array.name, array.tensor.shape(), array.tensor.dtype()});
  return out;
}

}  // namespace attn::run
