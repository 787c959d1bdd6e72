#include "attn/weights/agreement.h"

#include <set>
#include <string_view>

#include "attn/weights/file_names.h"
#include "match.h"

namespace attn::weights {

using graph::WeightSpec;

namespace {

/// Text layers keep the weights of their terms among the variables of .weights.h5, and load them on their own.
bool is_layer_state(std::string_view name) { return name.ends_with("vars/idf_weights"); }

/// Names the file's weights; `name_of` returns the new name for the weight of a spec.
template <typename NameOf>
std::vector<NamedTensor> renamed(std::span<const WeightSpec> specs, const Store& store, NameOf&& name_of) {
  const Agreement agreement = agree(specs, store);
  std::vector<NamedTensor> out;
  out.reserve(store.weights.size());
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (agreement.matches[i]) out.push_back({name_of(i), store.weights[*agreement.matches[i]].tensor});
  for (const std::size_t i : agreement.extra) out.push_back(store.weights[i]);
  return out;
}

}  // namespace

Agreement agree(std::span<const WeightSpec> specs, const Store& store) {
  Agreement out;
  out.matches = match(specs, store);
  std::vector<bool> used(store.weights.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!out.matches[i]) {
      out.missing.push_back(i);
      continue;
    }
    used[*out.matches[i]] = true;
    const Tensor& tensor = store.weights[*out.matches[i]].tensor;
    const DType dtype = tensor.dtype();
    if (tensor.shape() != specs[i].shape) out.wrong_shape.push_back(i);
    if (dtype != specs[i].dtype && !(is_floating(dtype) && is_floating(specs[i].dtype))) out.wrong_dtype.push_back(i);
  }
  std::set<std::string> again;
  for (const WeightSpec& spec : specs)
    if (!spec.store_again.empty()) again.insert(plain_name(spec.store_again));
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i] && !is_layer_state(store.weights[i].name) && !again.contains(plain_name(store.weights[i].name)))
      out.extra.push_back(i);
  return out;
}

std::vector<NamedTensor> with_paths(std::span<const WeightSpec> specs, const Store& store) {
  return renamed(specs, store, [&](std::size_t i) { return specs[i].path; });
}

std::vector<NamedTensor> with_file_names(std::span<const WeightSpec> specs, const Store& store) {
  const std::vector<std::string> names = file_names(specs);
  return renamed(specs, store, [&](std::size_t i) { return names[i]; });
}

}  // namespace attn::weights
