// keras.ops.rearrange: splits, moves and joins axes by a pattern such as "b (h w) c -> b h (w c)".
#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "attn/base/text.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// The axes of one side of a pattern. Several names in parentheses are one axis.
using Groups = std::vector<std::vector<std::string>>;

Groups parse_side(std::string_view side, std::string_view pattern) {
  Groups groups;
  bool open = false;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    if (!open) groups.emplace_back();
    groups.back().push_back(std::move(word));
    word.clear();
  };
  for (const char c : side) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    end_word();
    if (c == ' ') continue;
    if ((c != '(' || open) && (c != ')' || !open))
      throw bad_input("the pattern '{}' cannot be read at '{}'", printable(pattern), printable({&c, 1}));
    open = c == '(';
    if (open) groups.emplace_back();
  }
  end_word();
  if (open) throw bad_input("the pattern '{}' leaves a parenthesis open", printable(pattern));
  return groups;
}

std::vector<std::string> names_of(const Groups& groups) {
  std::vector<std::string> names;
  for (const auto& group : groups) names.insert(names.end(), group.begin(), group.end());
  return names;
}

class Rearrange : public Operation {
 public:
  /// Returns the names of the arguments. The sizes of axes are keyword arguments of the call, with the names in the
  /// layer's pattern.
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    arguments_ = {"tensor", "pattern"};
    for (const NodeSpec& node : nodes) {
      for (const auto& [key, value] : *node.kwargs.as<ArgDict>())
        if (std::find(arguments_.begin(), arguments_.end(), key) == arguments_.end()) arguments_.emplace_back(key);
    }
    return arguments_;
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("tensor")->id;
    const auto* pattern = call.arg("pattern").as<std::string>();
    const auto arrow = pattern == nullptr ? std::string::npos : pattern->find("->");
    if (arrow == std::string::npos) throw bad_input("the pattern must be a text with '->'");
    const Groups from = parse_side(std::string_view(*pattern).substr(0, arrow), *pattern);
    const Groups to = parse_side(std::string_view(*pattern).substr(arrow + 2), *pattern);
    const std::vector<std::string> names = names_of(from), wanted = names_of(to);

    std::vector<int> order;
    for (const std::string& axis : wanted)
      order.push_back(static_cast<int>(std::find(names.begin(), names.end(), axis) - names.begin()));
    const std::map<std::string, Dim> sizes = sizes_of(call, from, b.shape(x), *pattern);
    if (sizes.size() != names.size() || wanted.size() != names.size() ||
        !std::is_permutation(wanted.begin(), wanted.end(), names.begin()))
      throw bad_input("the two sides of the pattern '{}' must name the same axes, each once", printable(*pattern));

    Shape apart, joined;
    for (const std::string& axis : names) apart.push_back(sizes.at(axis));
    for (const auto& group : to) {
      Dim size = 1;
      for (const std::string& axis : group)
        size = size == kUnknown || sizes.at(axis) == kUnknown ? kUnknown : times(size, sizes.at(axis));
      joined.push_back(size);
    }
    return Call::result(b.reshape(b.transpose(b.reshape(x, apart), order), joined));
  }

 private:
  /// Returns the size of every named axis. In each group, the size of one axis can follow from the others.
  static std::map<std::string, Dim> sizes_of(Call& call, const Groups& from, const Shape& shape,
                                             std::string_view pattern) {
    if (static_cast<int>(from.size()) != shape.rank())
      throw bad_input("the pattern '{}' names {} axes, the tensor is {}", printable(pattern), from.size(), shape.str());
    std::map<std::string, Dim> sizes;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto& group = from[static_cast<std::size_t>(axis)];
      const std::string* open = nullptr;
      Dim known = 1;
      for (const std::string& part : group) {
        const auto* length = call.has(part) && group.size() > 1 ? call.arg(part).as<std::int64_t>() : nullptr;
        if (length == nullptr) {
          if (open != nullptr) throw bad_input("the lengths of '{}' and '{}' cannot both be left open", *open, part);
          open = &part;
          continue;
        }
        if (*length < 1) throw bad_input("the length of '{}' must be at least 1, got {}", part, *length);
        sizes[part] = *length;
        known = times(known, *length);
      }
      const Dim size = shape[axis];
      if (size != kUnknown && (size % known != 0 || (open == nullptr && size != known)))
        throw bad_input("axis {} of {} cannot be split by the pattern '{}'", axis, shape.str(), printable(pattern));
      if (open != nullptr) sizes[*open] = size == kUnknown ? kUnknown : size / known;
    }
    return sizes;
  }

  mutable std::vector<std::string_view> arguments_;  // views of keys in `nodes`
};

constexpr std::array kRearrangeOperations = {
    ClassInfo{"Rearrange", make_layer<Rearrange>, 309, kEinopsOps},
};

}  // namespace

Family rearrange_operations() { return kRearrangeOperations; }

}  // namespace attn::keras
