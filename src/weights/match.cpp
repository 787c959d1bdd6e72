#include "match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "attn/base/text.h"
#include "legacy_hdf5.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;
using Match = std::vector<std::optional<std::size_t>>;

/// Maps names to indices; a repeated name maps to nothing.
class NameIndex {
 public:
  void add(const std::string& name, std::size_t index) {
    if (!indices_.emplace(name, index).second) ambiguous_.insert(name);
  }
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    const auto found = indices_.find(name);
    if (found == indices_.end() || ambiguous_.contains(name)) return std::nullopt;
    return found->second;
  }

 private:
  std::map<std::string, std::size_t> indices_;
  std::set<std::string> ambiguous_;
};

/// Looks up every unmatched spec by `key_of(spec)` among the unmatched weights, whose keys are `name_of(weight)`.
template <typename KeyOf, typename NameOf>
void match_names(std::span<const WeightSpec> specs, const Store& store, KeyOf&& key_of, NameOf&& name_of, Match& out) {
  std::set<std::size_t> taken;
  for (const auto& index : out)
    if (index) taken.insert(*index);
  NameIndex weights;
  NameIndex wanted;
  for (std::size_t i = 0; i < store.weights.size(); ++i)
    if (!taken.contains(i)) weights.add(name_of(store.weights[i].name), i);
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!out[i]) wanted.add(key_of(specs[i]), i);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string key = key_of(specs[i]);
    if (!out[i] && !key.empty() && wanted.find(key) == i) out[i] = weights.find(key);
  }
}

/// Returns all suffixes of a path that begin with a whole component, the path itself first. A path with more components
/// than any model has returns only itself, because it would have too many suffixes.
std::vector<std::string> ends_of(const std::string& path) {
  constexpr std::ptrdiff_t kMaxParts = 64;
  std::vector<std::string> out = {path};
  if (std::count(path.begin(), path.end(), '/') >= kMaxParts) return out;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    out.push_back(path.substr(slash + 1));
  return out;
}

/// Matches a spec with the only weight whose name is a suffix of its path and of no other path, or the reverse. This
/// happens if a layer is inside another. Its path contains the outer name if Keras builds both at once, but not if it
/// builds them from a file.
void match_ends(std::span<const WeightSpec> specs, const Store& store, Match& out) {
  std::vector<std::size_t> free_specs;
  std::vector<std::size_t> free_weights;
  std::vector<bool> used(store.weights.size());
  for (const auto& index : out)
    if (index) used[*index] = true;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!out[i]) free_specs.push_back(i);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) free_weights.push_back(i);

  NameIndex spec_ends;
  NameIndex weight_ends;
  for (const std::size_t i : free_specs)
    for (const std::string& end : ends_of(plain_name(specs[i].path))) spec_ends.add(end, i);
  for (const std::size_t i : free_weights)
    for (const std::string& end : ends_of(plain_name(store.weights[i].name))) weight_ends.add(end, i);
  // The shorter name must be a suffix of no other name on either side, so that no weight is matched twice.
  for (const std::size_t weight : free_weights) {
    const std::string name = plain_name(store.weights[weight].name);
    const auto spec = spec_ends.find(name);
    if (spec && weight_ends.find(name) == weight) out[*spec] = weight;
  }
  for (const std::size_t spec : free_specs) {
    const std::string path = plain_name(specs[spec].path);
    const auto weight = weight_ends.find(path);
    if (weight && spec_ends.find(path) == spec) out[spec] = *weight;
  }
}

Match by_name(std::span<const WeightSpec> specs, const Store& store) {
  const auto path = [](const WeightSpec& spec) { return spec.path; };
  const auto store_path = [](const WeightSpec& spec) { return spec.store_path; };
  const auto plain_path = [](const WeightSpec& spec) { return plain_name(spec.path); };
  const auto plain_store_path = [](const WeightSpec& spec) { return plain_name(spec.store_path); };
  const auto as_is = [](const std::string& name) { return name; };

  Match out(specs.size());
  match_names(specs, store, path, as_is, out);
  match_names(specs, store, store_path, as_is, out);
  match_names(specs, store, plain_path, plain_name, out);
  match_names(specs, store, plain_store_path, plain_name, out);
  if (store.naming == Naming::path) match_ends(specs, store, out);
  return out;
}

bool is_whole(const Match& match) {
  return std::all_of(match.begin(), match.end(), [](const auto& index) { return index.has_value(); });
}

/// The specs in the order of their paths, in which those of a layer are neighbors.
class SpecsByLayer {
 public:
  explicit SpecsByLayer(std::span<const WeightSpec> specs) : specs_(specs), order_(specs.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t i) -> const std::string& { return specs[i].path; });
  }

  /// Returns the specs whose path begins with the layer's name, in the model's order.
  [[nodiscard]] std::vector<std::size_t> of(const std::string& layer) const {
    static_assert('/' + 1 == '0');
    std::vector<std::size_t> out(first_from(layer + "/"), first_from(layer + "0"));
    std::ranges::sort(out);
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t>::const_iterator first_from(const std::string& path) const {
    return std::ranges::lower_bound(order_, path, {},
                                    [&](std::size_t i) -> const std::string& { return specs_[i].path; });
  }

  std::span<const WeightSpec> specs_;
  std::vector<std::size_t> order_;
};

/// Matches layer by layer, in the order of each layer's weights (trainable ones first). Layers are matched by name; if
/// their names and sizes do not agree, by order.
Match by_order(std::span<const WeightSpec> specs, const Store& store) {
  std::vector<std::vector<std::size_t>> groups;
  const SpecsByLayer by_layer(specs);
  for (const StoredLayer& layer : store.layers) {
    groups.push_back(by_layer.of(layer.name));
    if (std::ssize(groups.back()) != layer.count) break;
  }
  const bool names_agree = groups.size() == store.layers.size() &&
                           (groups.empty() || std::ssize(groups.back()) == store.layers.back().count);
  if (!names_agree) {
    std::size_t next = 0;
    groups.resize(store.layers.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i].resize(static_cast<std::size_t>(store.layers[i].count));
      std::iota(groups[i].begin(), groups[i].end(), next);
      next += groups[i].size();
    }
  }
  Match out(specs.size());
  std::size_t weight = 0;
  for (std::vector<std::size_t>& group : groups) {
    std::stable_partition(group.begin(), group.end(), [&](std::size_t spec) { return listed_first(specs[spec]); });
    for (const std::size_t spec : group) out[spec] = weight++;
  }
  return out;
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string text(name.substr(0, name.ends_with(":0") ? name.size() - 2 : name.size()));
  std::replace(text.begin(), text.end(), '\\', '/');
  std::vector<std::string> parts;
  for (std::string& part : split(text, '/')) {
    part.erase(0, std::min(part.find_first_not_of('_'), part.size()));
    if (part == "layer_checkpoint_dependencies") part = "layers";
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return join(parts, "/");
}

Match match(std::span<const WeightSpec> specs, const Store& store) {
  Match names = by_name(specs, store);
  if (store.naming != Naming::layered || is_whole(names) || store.weights.size() != specs.size()) return names;
  return by_order(specs, store);
}

}  // namespace attn::weights
