#include "attn/weights/hugging_face.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/weights/file_names.h"
#include "attn/weights/initialize.h"
#include "hugging_face/layout.h"
#include "hugging_face/names.h"
#include "hugging_face/wide_blocks.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

constexpr std::size_t kNamed = 5;  // names listed in a message

std::string names_in(const std::vector<std::string>& items) {
  const std::size_t shown = std::min(items.size(), kNamed);
  const std::string rest = items.size() > shown ? fmt::format(" and {} more", items.size() - shown) : "";
  return join(std::span(items).first(shown), ", ") + rest;
}

/// The arrays of a file by name, some of which may have a prefix: "bert." in files of a model with a head.
class Arrays {
 public:
  Arrays(const Store& store, const NameTable& table) : store_(store) {
    for (std::size_t i = 0; i < store.weights.size(); ++i) by_name_.emplace(store.weights[i].name, i);
    const std::string anchor(table.rows.front().hugging_face);
    for (const auto& [name, index] : by_name_) {
      const bool ends = name == anchor || name.ends_with("." + anchor);
      if (!ends || (prefix_ && prefix_->size() + anchor.size() <= name.size())) continue;
      prefix_ = name.substr(0, name.size() - anchor.size());
    }
  }

  /// Returns the prefix of the backbone's names; empty if the file has none of them.
  [[nodiscard]] const std::optional<std::string>& prefix() const { return prefix_; }

  /// Returns the array of this name; null if the file has none.
  [[nodiscard]] const NamedTensor* find(const std::string& name) {
    for (const std::string& spelling : spellings(name))
      for (const std::string& whole : {prefix_.value_or("") + spelling, spelling})
        if (const auto found = by_name_.find(whole); found != by_name_.end()) {
          used_.insert(found->second);
          return &store_.weights[found->second];
        }
    return nullptr;
  }

  /// Returns the names of arrays in blocks that were never requested. `stems` are the prefixes of block names: "h.".
  [[nodiscard]] std::vector<std::string> left(const std::set<std::string_view>& stems) const {
    // Masks and tables that older versions saved, and that are computed now; the last one, from T5, was never used.
    constexpr std::array<std::string_view, 8> kComputed{".attn.bias",
                                                        ".attn.masked_bias",
                                                        ".relative_position_index",
                                                        ".rotary_emb.inv_freq",
                                                        ".rotary_embeddings.inv_freq",
                                                        ".attention.bias",
                                                        ".attention.masked_bias",
                                                        ".EncDecAttention.relative_attention_bias.weight"};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < store_.weights.size(); ++i) {
      const std::string& name = store_.weights[i].name;
      const bool in_block = std::any_of(stems.begin(), stems.end(), [&](std::string_view stem) {
        return name.starts_with(prefix_.value_or("") + std::string(stem));
      });
      const bool computed = std::any_of(kComputed.begin(), kComputed.end(),
                                        [&](std::string_view ending) { return name.ends_with(ending); });
      if (in_block && !computed && !used_.contains(i)) names.push_back(printable(name));
    }
    return names;
  }

 private:
  /// Files from before 2019 use TensorFlow's names for the weights of a normalization.
  static std::vector<std::string> spellings(const std::string& name) {
    std::vector<std::string> out{name};
    for (const auto& [now, then] :
         {std::pair("LayerNorm.weight", "LayerNorm.gamma"), std::pair("LayerNorm.bias", "LayerNorm.beta")})
      if (name.ends_with(now)) out.push_back(name.substr(0, name.size() - std::string_view(now).size()) + then);
    return out;
  }

  const Store& store_;
  std::map<std::string, std::size_t> by_name_;
  std::optional<std::string> prefix_;
  std::set<std::size_t> used_;
};

/// Returns the name of each weight.
std::vector<FoundName> names_of(const NameTable& table, std::span<const WeightSpec> specs) {
  std::vector<FoundName> found = find_rows(table, specs);
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (found[i].row == nullptr)
      throw bad_input("the weight '{}' of the model has no name in Hugging Face's files of its family",
                      printable(specs[i].path));
  return found;
}

/// The weights of a model that one array of the file stores. The array is their concatenation along an axis, after
/// `skipped` entries that are not used.
struct ConcatenatedWeights {
  std::vector<std::size_t> specs;
  Dim skipped = 0;
};

/// Returns whether files lack the weight, so that it comes from its initializer.
bool is_initialized(const FoundName& found) { return found.row->hugging_face.empty(); }

/// Groups weights by the array of the file that stores them. Keys are the names of these arrays; for a stack of
/// experts, the name of the first one's array.
std::map<std::string, ConcatenatedWeights> arrays_of(const std::vector<FoundName>& names) {
  std::map<std::string, std::map<const NameRow*, std::size_t>> parts;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!is_initialized(names[i]) && !names[i].row->is_computed) parts[names[i].array()].emplace(names[i].row, i);
  std::map<std::string, ConcatenatedWeights> out;
  for (const auto& [name, rows] : parts) {
    ConcatenatedWeights& joined = out[name];
    for (const auto& [row, spec] : rows) {  // sorted by address, which is the order of the table
      joined.specs.push_back(spec);
      joined.skipped = row->skipped;
    }
  }
  return out;
}

bool has_experts(const FoundName& found) { return found.row->hugging_face.find("{expert}") != std::string_view::npos; }

/// Returns the shape of the part of one expert's slice of a weight that one of `count` arrays stores.
Shape expert_shape(const Shape& whole, std::size_t count) {
  Shape shape = whole.slice(1, whole.rank());
  shape[-1] /= static_cast<Dim>(count);
  return shape;
}

class Reader {
 public:
  Reader(std::span<const WeightSpec> specs, const NameTable& table, const Store& store)
      : specs_(specs), names_(names_of(table, specs)), table_(table), arrays_(store, table) {}

  std::vector<Tensor> run(const std::string& file) {
    tensors_.resize(specs_.size());
    for (const auto& [name, joined] : arrays_of(names_)) read(name, joined);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (is_initialized(names_[i])) tensors_[i] = initialize(specs_[i], 0, 1);
      for (std::int64_t k = 0; k < tensors_[i].size() && names_[i].row->layout.order == Layout::Order::counted; ++k)
        tensors_[i].set(k, static_cast<double>(k));
      if (names_[i].row->is_computed) read(names_[i].array(), {{i}, 0});
    }
    if (!missing_.empty())
      throw bad_input("{}: {} of the model's arrays {} not in it: {}", file, missing_.size(),
                      missing_.size() == 1 ? "is" : "are", names_in(missing_));
    if (!wrong_.empty())
      throw bad_input("{}: {} {} not of the model's shape: {}", file, wrong_.size(),
                      wrong_.size() == 1 ? "array is" : "arrays are", names_in(wrong_));
    const std::vector<std::string> left = arrays_.left(stems());
    if (!left.empty())
      throw bad_input("{}: {} in the model's blocks {} no weight of it: {}", file,
                      left.size() == 1 ? "an array" : "arrays", left.size() == 1 ? "is" : "are", names_in(left));
    return std::move(tensors_);
  }

 private:
  void read(const std::string& name, const ConcatenatedWeights& joined) {
    const std::size_t first = joined.specs.front();
    if (has_experts(names_[first])) return read_experts(names_[first], first);
    if (const std::vector<std::string> parts = alternatives(name); parts.size() > 1) return read_parts(parts, first);
    const Layout& layout = names_[first].row->layout;
    if (hugging_face_shape(layout, specs_[first].shape).rank() == 0) {
      if (const NamedTensor* const array = find(name, {})) tensors_[first] = array->tensor;
      return;
    }
    auto [seen, axis] = joining(layout, specs_[first].shape);
    const Dim own = seen[axis];
    seen[axis] = joined.skipped;
    for (const std::size_t spec : joined.specs) seen[axis] += joining(layout, specs_[spec].shape).seen[axis];
    Shape expected = hugging_face_shape(layout, specs_[first].shape);
    const int joined_axis = layout.by_parts_of_heads ? 0 : axis;
    expected[joined_axis] = expected[joined_axis] / own * seen[axis];
    const std::string_view otherwise = names_[first].row->otherwise;
    const bool lacks = !otherwise.empty() && arrays_.find(name) == nullptr;
    const NamedTensor* const array = find(lacks ? std::string(otherwise) : name, expected);
    if (array == nullptr) return;
    Dim begin = joined.skipped;
    for (const std::size_t spec : joined.specs) {
      const Shape& shape = specs_[spec].shape;
      const Dim end = begin + joining(layout, shape).seen[axis];
      const bool whole = begin == 0 && end == seen[axis];
      const Tensor part = whole ? array->tensor : slice(array->tensor.reshaped(seen), axis, begin, end);
      tensors_[spec] = to_keras(part.reshaped(hugging_face_shape(layout, shape)), layout, shape);
      begin = end;
    }
  }

  void read_experts(const FoundName& found, std::size_t spec) {
    const std::size_t count = found.arrays(0).size();
    const Shape shape = expert_shape(specs_[spec].shape, count);
    std::vector<Tensor> experts;
    for (Dim expert = 0; expert < specs_[spec].shape[0]; ++expert) {
      std::vector<Tensor> parts;
      for (const std::string& name : found.arrays(expert)) {
        const NamedTensor* const array = find(name, hugging_face_shape(found.row->layout, shape));
        if (array == nullptr) return;
        parts.push_back(to_keras(array->tensor, found.row->layout, shape));
      }
      experts.push_back(count == 1 ? parts.front() : joined(parts, shape.rank() - 1));
    }
    tensors_[spec] = joined(experts, 0).reshaped(specs_[spec].shape);
  }

  /// Reads a weight whose parts along the first axis are several arrays.
  void read_parts(const std::vector<std::string>& names, std::size_t spec) {
    const Layout& layout = names_[spec].row->layout;
    Shape shape = hugging_face_shape(layout, specs_[spec].shape);
    shape[0] /= static_cast<Dim>(names.size());
    std::vector<Tensor> parts;
    for (const std::string& name : names) {
      const NamedTensor* const array = find(name, shape);
      if (array == nullptr) return;
      parts.push_back(array->tensor);
    }
    tensors_[spec] = to_keras(joined(parts, 0), layout, specs_[spec].shape);
  }

  const NamedTensor* find(const std::string& name, const Shape& shape) {
    const NamedTensor* const array = arrays_.find(name);
    if (array == nullptr) {
      missing_.push_back(fmt::format("'{}' {}", printable(name), shape.str()));
      return nullptr;
    }
    if (array->tensor.shape() == shape) return array;
    wrong_.push_back(
        fmt::format("'{}' (expected {}, found {})", printable(array->name), shape.str(), array->tensor.shape().str()));
    return nullptr;
  }

  /// Returns the parts of names before the block number, such as "h." of "h.{}.attn.c_attn.weight".
  [[nodiscard]] std::set<std::string_view> stems() const {
    std::set<std::string_view> out;
    for (const NameRow& row : table_.rows)
      if (const std::size_t hole = row.hugging_face.find("{}"); hole != std::string_view::npos)
        out.insert(row.hugging_face.substr(0, hole));
    return out;
  }

  std::span<const WeightSpec> specs_;
  std::vector<FoundName> names_;
  const NameTable& table_;
  Arrays arrays_;
  std::vector<Tensor> tensors_;
  std::vector<std::string> missing_, wrong_;
};

const NameTable& table_of(std::span<const NameTable> tables, std::string_view backbone,
                          std::span<const WeightSpec> specs) {
  const NameTable* const table = find_names(tables, backbone, specs);
  if (table == nullptr)
    throw bad_input("the names of the weights of a {} in Hugging Face's files are unknown to attn", backbone);
  return *table;
}

}  // namespace

bool is_hugging_face(const Store& store, std::span<const NameTable> tables, std::string_view backbone,
                     std::span<const WeightSpec> specs) {
  const NameTable* const table = store.naming == Naming::path ? find_names(tables, backbone, specs) : nullptr;
  return table != nullptr && Arrays(store, *table).prefix().has_value();
}

Store from_hugging_face(std::span<const WeightSpec> specs, std::span<const NameTable> tables, std::string_view backbone,
                        const Store& store) {
  std::vector<Tensor> tensors = Reader(specs, table_of(tables, backbone, specs), store).run(store.file);
  const std::vector<std::string> names = file_names(specs);
  Store out{store.file, Naming::path, {}, {}, {}};
  for (std::size_t i = 0; i < specs.size(); ++i) out.weights.push_back({names[i], std::move(tensors[i])});
  return out;
}

std::vector<NamedTensor> to_hugging_face(std::span<const WeightSpec> model, std::span<const Tensor> numbers,
                                         std::span<const NameTable> tables, std::string_view backbone, bool with_head) {
  const NameTable& table = table_of(tables, backbone, model);
  const auto [specs, tensors] = with_wide_blocks(model, numbers, table);
  const std::vector<FoundName> names = names_of(table, specs);
  const std::string_view of_backbone = with_head ? table.prefix : "";
  std::vector<NamedTensor> out;
  for (const auto& [name, parts] : arrays_of(names)) {
    const std::size_t first = parts.specs.front();
    const FoundName& found = names[first];
    const Layout& layout = found.row->layout;
    const std::string prefix(found.row->of_head ? "" : of_backbone);
    if (has_experts(found)) {
      for (Dim expert = 0; expert < specs[first].shape[0]; ++expert) {
        const std::vector<std::string> arrays = found.arrays(expert);
        const Tensor whole = slice(tensors[first], 0, expert, expert + 1).reshaped(expert_shape(specs[first].shape, 1));
        const Dim features = expert_shape(specs[first].shape, arrays.size())[-1];
        for (std::size_t i = 0; i < arrays.size(); ++i) {
          const Dim from = static_cast<Dim>(i) * features;
          const Tensor part =
              arrays.size() == 1 ? whole : slice(whole, whole.shape().rank() - 1, from, from + features);
          out.push_back({prefix + arrays[i], to_hugging_face(part, layout)});
        }
      }
      continue;
    }
    const int axis = joining(layout, specs[first].shape).axis;
    std::vector<Tensor> arrays;
    for (const std::size_t spec : parts.specs)
      arrays.push_back(to_hugging_face(tensors[spec], layout).reshaped(joining(layout, specs[spec].shape).seen));
    if (parts.skipped > 0) {
      Shape shape = arrays.front().shape();
      shape[0] = parts.skipped;
      arrays.insert(arrays.begin(), Tensor(arrays.front().dtype(), shape));
    }
    Tensor whole = arrays.size() == 1 ? arrays.front() : joined(arrays, axis);
    if (layout.by_parts_of_heads) {
      Shape shape{whole.shape()[0] * whole.shape()[1]};
      shape.append(whole.shape().slice(2, whole.shape().rank()));
      whole = whole.reshaped(shape);
    }
    const std::vector<std::string> parts_in_file = alternatives(name);
    if (parts_in_file.size() == 1) {
      out.push_back({prefix + name, std::move(whole)});
      continue;
    }
    const Dim rows = whole.shape()[0] / static_cast<Dim>(parts_in_file.size());
    for (std::size_t i = 0; i < parts_in_file.size(); ++i) {
      const Dim from = static_cast<Dim>(i) * rows;
      out.push_back({prefix + parts_in_file[i], slice(whole, 0, from, from + rows)});
    }
  }
  return out;
}

}  // namespace attn::weights
