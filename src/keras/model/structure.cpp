#include "model/structure.h"

#include <algorithm>
#include <map>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

/// Visits the tensors of an argument in the order of keras.tree.flatten, which sorts the keys of a dict.
template <typename Leaf, typename Visit>
void visit_leaves(const Arg& arg, Visit&& visit) {
  if (const auto* leaf = arg.as<Leaf>()) {
    visit(*leaf);
  } else if (const auto* list = arg.as<ArgList>()) {
    for (const Arg& item : *list) visit_leaves<Leaf>(item, visit);
  } else if (const auto* dict = arg.as<ArgDict>()) {
    std::vector<const std::pair<std::string, Arg>*> sorted;
    for (const auto& item : *dict) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* item : sorted) visit_leaves<Leaf>(item->second, visit);
  }
}

}  // namespace

void collect_refs(const Arg& arg, std::vector<TensorRef>& out) {
  visit_leaves<TensorRef>(arg, [&](const TensorRef& ref) { out.push_back(ref); });
}

Arg packed(const Arg& structure, const std::vector<TensorPtr>& tensors) {
  std::size_t next = 0;
  // Dicts are flattened by sorted key, so they are visited in the same order.
  const auto pack = [&](auto& self, const Arg& arg) -> Arg {
    if (arg.as<TensorRef>()) return tensors[next++];
    if (const auto* list = arg.as<ArgList>()) {
      ArgList out;
      for (const Arg& item : *list) out.push_back(self(self, item));
      return out;
    }
    ArgDict dict = *arg.as<ArgDict>();
    std::vector<std::size_t> sorted(dict.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::stable_sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return dict[a].first < dict[b].first; });
    for (const std::size_t i : sorted) dict[i].second = self(self, Arg(dict[i].second));
    return dict;
  };
  Arg out = pack(pack, structure);
  if (const auto* list = out.as<ArgList>(); list != nullptr && list->size() == 1) return Arg(list->front());
  return out;
}

std::vector<TensorPtr> ordered_inputs(const Arg& given, const Arg& structure, const std::vector<Layer*>& layers) {
  const auto* dict = given.as<ArgDict>();
  const auto* wanted = structure.as<ArgDict>();
  // Tensors beyond those of the model are ignored, as in the call of a backbone by KerasHub's Gemma3nCausalLM.
  if (dict != nullptr && (wanted == nullptr || dict->size() > layers.size())) {
    std::vector<TensorPtr> out;
    for (const Layer* layer : layers) {
      const auto it =
          std::find_if(dict->begin(), dict->end(), [&](const auto& item) { return item.first == layer->name; });
      if (it == dict->end()) throw bad_input("the input '{}' is missing", printable(layer->name));
      out.push_back(*it->second.template as<TensorPtr>());
    }
    return out;
  }
  std::vector<TensorPtr> out;
  visit_leaves<TensorPtr>(given, [&](const TensorPtr& tensor) { out.push_back(tensor); });
  return out;
}

std::vector<TensorPtr> ordered_masks(const Arg& given) {
  std::vector<TensorPtr> out;
  if (const auto* tensor = given.as<TensorPtr>()) {
    out.push_back(*tensor);
  } else if (given.is_none()) {
    out.push_back(nullptr);
  } else if (const auto* list = given.as<ArgList>()) {
    for (const Arg& item : *list)
      for (TensorPtr& mask : ordered_masks(item)) out.push_back(std::move(mask));
  } else if (const auto* dict = given.as<ArgDict>()) {
    std::map<std::string, const Arg*> sorted;
    for (const auto& [key, item] : *dict) sorted.emplace(key, &item);
    for (const auto& [key, item] : sorted)
      for (TensorPtr& mask : ordered_masks(*item)) out.push_back(std::move(mask));
  }
  return out;
}

}  // namespace attn::keras
