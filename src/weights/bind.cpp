#include "attn/weights/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "match.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

constexpr std::size_t kListed = 5;         // names in a message
constexpr std::size_t kCandidates = 1000;  // that a misspelt name is compared with

/// What the spec's weight is called in a file of that kind.
const std::string& name_in(const Store& store, const WeightSpec& spec) {
  return store.naming == Naming::store_path && !spec.store_path.empty() ? spec.store_path : spec.path;
}

/// "1 weight is", "2 weights are".
std::string are(std::size_t count) { return count == 1 ? "1 weight is" : fmt::format("{} weights are", count); }

/// The first few items, one after another, and how many are left.
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

std::vector<const NamedTensor*> unmatched(const Store& store, const std::vector<std::optional<std::size_t>>& matches) {
  std::vector<bool> used(store.weights.size());
  for (const auto& index : matches)
    if (index) used[*index] = true;
  std::vector<const NamedTensor*> out;
  for (std::size_t i = 0; i < store.weights.size(); ++i)
    if (!used[i]) out.push_back(&store.weights[i]);
  return out;
}

void check_none_missing(std::span<const WeightSpec> specs, const Store& store,
                        const std::vector<std::optional<std::size_t>>& matches,
                        const std::vector<const NamedTensor*>& rest) {
  std::vector<const WeightSpec*> missing;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!matches[i]) missing.push_back(&specs[i]);
  if (missing.empty()) return;
  std::vector<std::string_view> candidates;
  for (std::size_t i = 0; i < std::min(rest.size(), kCandidates); ++i) candidates.emplace_back(rest[i]->name);
  const std::string names = list_of(missing, [&](const WeightSpec* spec) {
    const std::string& name = name_in(store, *spec);
    return fmt::format("'{}' {}{}", printable(name), spec->shape.str(), did_you_mean(name, candidates));
  });
  const std::string others =
      rest.empty() ? "" : fmt::format("; {} in the file that the model does not have", rest.size());
  throw bad_input("{}: {} of the model's {} weights {} not in it: {}{}", store.file, missing.size(), specs.size(),
                  missing.size() == 1 ? "is" : "are", names, others);
}

void check_shapes(std::span<const WeightSpec> specs, const Store& store,
                  const std::vector<std::optional<std::size_t>>& matches) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (store.weights[*matches[i]].tensor.shape() != specs[i].shape) wrong.push_back(i);
  if (wrong.empty()) return;
  throw bad_input("{}: {} not of the model's shape: {}", store.file, are(wrong.size()),
                  list_of(wrong, [&](std::size_t i) {
                    const NamedTensor& found = store.weights[*matches[i]];
                    return fmt::format("'{}' (expected {}, found {})", printable(found.name), specs[i].shape.str(),
                                       found.tensor.shape().str());
                  }));
}

bool is_convertible(DType from, DType to) { return from == to || (is_floating(from) && is_floating(to)); }

void check_dtypes(std::span<const WeightSpec> specs, const Store& store,
                  const std::vector<std::optional<std::size_t>>& matches) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!is_convertible(store.weights[*matches[i]].tensor.dtype(), specs[i].dtype)) wrong.push_back(i);
  if (wrong.empty()) return;
  throw bad_input("{}: {} not of the model's dtype: {}", store.file, are(wrong.size()),
                  list_of(wrong, [&](std::size_t i) {
                    const NamedTensor& found = store.weights[*matches[i]];
                    return fmt::format("'{}' (expected {}, found {})", printable(found.name), name_of(specs[i].dtype),
                                       name_of(found.tensor.dtype()));
                  }));
}

void check_none_left(const Store& store, const std::vector<const NamedTensor*>& rest) {
  if (rest.empty()) return;
  throw bad_input("{}: {} not the model's: {}", store.file, are(rest.size()),
                  list_of(rest, [](const NamedTensor* weight) {
                    return fmt::format("'{}' {}", printable(weight->name), weight->tensor.shape().str());
                  }));
}

}  // namespace

std::vector<Tensor> bind(std::span<const WeightSpec> specs, const Store& store) {
  const auto matches = match(specs, store);
  const auto rest = unmatched(store, matches);
  check_none_missing(specs, store, matches, rest);
  check_shapes(specs, store, matches);
  check_dtypes(specs, store, matches);
  check_none_left(store, rest);

  std::vector<Tensor> out;
  out.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Tensor& tensor = store.weights[*matches[i]].tensor;
    out.push_back(tensor.dtype() == specs[i].dtype ? tensor : tensor.cast(specs[i].dtype));
  }
  return out;
}

std::vector<Tensor> bind(std::span<const WeightSpec> specs, const std::string& path) {
  return weights::bind(specs, read_store(path));
}

}  // namespace attn::weights
