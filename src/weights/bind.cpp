#include "attn/weights/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/weights/agreement.h"
#include "attn/weights/read_store.h"
#include "match.h"
#include "quantization_mismatch.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

constexpr std::size_t kListed = 5;         // names listed in a message
constexpr std::size_t kCandidates = 1000;  // names that are compared with a misspelt one

/// Returns the name of the spec's weight in a file of this kind.
const std::string& name_in(const Store& store, const WeightSpec& spec) {
  return store.naming == Naming::store_path && !spec.store_path.empty() ? spec.store_path : spec.path;
}

/// Returns the number of weights as the beginning of a sentence: "1 weight is", "2 weights are".
std::string are(std::size_t count) { return count == 1 ? "1 weight is" : fmt::format("{} weights are", count); }

/// Returns the first few items as text, and the number of the others.
template <typename Items, typename Describe>
std::string list_of(const Items& items, Describe&& describe) {
  std::vector<std::string> parts;
  for (const auto& item : items) {
    if (parts.size() == kListed) break;
    parts.push_back(describe(item));
  }
  const std::size_t rest = items.size() - parts.size();
  return join(parts, ", ") + (rest > 0 ? fmt::format(" and {} more", rest) : "");
}

void check_none_missing(std::span<const WeightSpec> specs, const Store& store, const Agreement& agreement,
                        const std::string& hint) {
  if (agreement.missing.empty()) return;
  std::vector<std::string_view> candidates;
  for (const std::size_t i : agreement.extra)
    if (candidates.size() < kCandidates) candidates.emplace_back(store.weights[i].name);
  const std::string names = list_of(agreement.missing, [&](std::size_t i) {
    const std::string& name = name_in(store, specs[i]);
    return fmt::format("'{}' {}{}", printable(name), specs[i].shape.str(), did_you_mean(name, candidates));
  });
  const std::string others =
      candidates.empty() ? "" : fmt::format("; {} in the file but not in the model", agreement.extra.size());
  throw bad_input("{}: {} of the model's {} weights {} not in it: {}{}{}", store.file, agreement.missing.size(),
                  specs.size(), agreement.missing.size() == 1 ? "is" : "are", names, others, hint);
}

void check_shapes(std::span<const WeightSpec> specs, const Store& store, const Agreement& agreement,
                  const std::string& hint) {
  if (agreement.wrong_shape.empty()) return;
  throw bad_input("{}: {} not of the model's shape: {}{}", store.file, are(agreement.wrong_shape.size()),
                  list_of(agreement.wrong_shape,
                          [&](std::size_t i) {
                            const NamedTensor& found = store.weights[*agreement.matches[i]];
                            return fmt::format("'{}' (expected {}, found {})", printable(found.name),
                                               specs[i].shape.str(), found.tensor.shape().str());
                          }),
                  hint);
}

void check_dtypes(std::span<const WeightSpec> specs, const Store& store, const Agreement& agreement,
                  const std::string& hint) {
  if (agreement.wrong_dtype.empty()) return;
  throw bad_input("{}: {} not of the model's dtype: {}{}", store.file, are(agreement.wrong_dtype.size()),
                  list_of(agreement.wrong_dtype,
                          [&](std::size_t i) {
                            const NamedTensor& array = store.weights[*agreement.matches[i]];
                            return fmt::format("'{}' (expected {}, found {})", printable(array.name),
                                               name_of(specs[i].dtype), name_of(array.tensor.dtype()));
                          }),
                  hint);
}

void check_none_left(const Store& store, const Agreement& agreement, const std::string& hint) {
  if (agreement.extra.empty()) return;
  throw bad_input("{}: {} not the model's: {}{}", store.file, are(agreement.extra.size()),
                  list_of(agreement.extra,
                          [&](std::size_t i) {
                            const NamedTensor& weight = store.weights[i];
                            return fmt::format("'{}' {}", printable(weight.name), weight.tensor.shape().str());
                          }),
                  hint);
}

/// Matches every spec with a weight of the file, and requires that no weight of the file is left.
Agreement whole_agreement(std::span<const WeightSpec> specs, const Store& store) {
  Agreement agreement = agree(specs, store);
  const std::string hint = agreement.whole() ? "" : quantization_mismatch(specs, store, agreement);
  check_none_missing(specs, store, agreement, hint);
  check_shapes(specs, store, agreement, hint);
  check_dtypes(specs, store, agreement, hint);
  check_none_left(store, agreement, hint);
  return agreement;
}

std::vector<Tensor> bind_all(std::span<const WeightSpec> specs, const Store& store) {
  const Agreement agreement = whole_agreement(specs, store);
  std::vector<Tensor> out;
  out.reserve(specs.size());
  for (const auto& match : agreement.matches) out.push_back(store.weights[*match].tensor);
  return out;
}

/// Returns whether the spec is a factor of a low-rank update of a kernel (Dense.enable_lora).
bool is_low_rank(const WeightSpec& spec) {
  const std::string_view name = std::string_view(spec.path).substr(spec.path.rfind('/') + 1);
  return name.starts_with("lora_") && (name.ends_with("_a") || name.ends_with("_b"));
}

}  // namespace

std::vector<WeightSpec> without_absent_factors(std::span<const WeightSpec> specs, const Store& store) {
  std::vector<WeightSpec> kept(specs.begin(), specs.end());
  if (std::ranges::none_of(specs, is_low_rank)) return kept;
  std::unordered_set<std::string> stored;
  for (const NamedTensor& weight : store.weights) stored.insert(plain_name(weight.name));
  std::erase_if(kept, [&](const WeightSpec& spec) {
    return is_low_rank(spec) && !stored.contains(plain_name(name_in(store, spec)));
  });
  return kept;
}

void check_bound(std::span<const WeightSpec> specs, const Store& store) {
  static_cast<void>(whole_agreement(specs, store));
}

std::vector<Tensor> bind_as_stored(std::span<const WeightSpec> specs, const Store& store) {
  const std::vector<WeightSpec> kept = without_absent_factors(specs, store);
  std::vector<Tensor> found = bind_all(kept, store);
  if (kept.size() == specs.size()) return found;
  std::vector<Tensor> out;
  std::size_t next = 0;
  for (const WeightSpec& spec : specs) {
    const bool is_kept = next < kept.size() && kept[next].path == spec.path;
    out.push_back(is_kept ? std::move(found[next++]) : Tensor(spec.dtype, spec.shape));
  }
  return out;
}

std::vector<Tensor> bind(std::span<const WeightSpec> specs, const Store& store) {
  std::vector<Tensor> out = bind_as_stored(specs, store);
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (out[i].dtype() != specs[i].dtype) out[i] = out[i].cast(specs[i].dtype);
  return out;
}

std::vector<Tensor> bind(std::span<const WeightSpec> specs, const std::string& path) {
  return weights::bind(specs, read_store(path));
}

}  // namespace attn::weights
