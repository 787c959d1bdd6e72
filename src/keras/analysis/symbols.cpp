#include "analysis/symbols.h"

#include <algorithm>
#include <array>
#include <span>

#include "attn/base/text.h"
#include "classes/reading.h"

namespace attn::keras {
namespace {

struct Meaning {
  std::string_view symbol, meaning;
};
constexpr std::array kMeanings = {
    Meaning{"d_model", "width of the model"},
    Meaning{"h", "heads"},
    Meaning{"d_head", "size of a head"},
    Meaning{"g", "heads of key and value, shared by groups of query heads"},
    Meaning{"d_key", "width of the key's input"},
    Meaning{"d_value", "width of the value's input"},
    Meaning{"d_v", "size of a value head"},
    Meaning{"d_out", "width of the output"},
    Meaning{"d_in", "width of the input"},
    Meaning{"V", "entries of the vocabulary"},
    Meaning{"L", "positions"},
    Meaning{"c", "channels"},
    Meaning{"u", "units"},
    Meaning{"4·u", "input, forget, candidate and output, side by side"},
    Meaning{"3·u", "update, reset and candidate, side by side"},
    Meaning{"k", "cells of a window"},
    Meaning{"k_d", "depth of a window"},
    Meaning{"k_h", "height of a window"},
    Meaning{"k_w", "width of a window"},
    Meaning{"c_in", "channels that a filter reads"},
    Meaning{"f", "filters"},
    Meaning{"4·f", "input, forget, candidate and output, side by side"},
    Meaning{"m", "filters per channel (depth_multiplier)"},
    Meaning{"c_in·m", "filters of all channels"},
    Meaning{"o", "length of the output"},
    Meaning{"o_d", "depth of the output"},
    Meaning{"o_h", "height of the output"},
    Meaning{"o_w", "width of the output"},
    Meaning{"r", "cells that all windows read, less those of the padding"},
    Meaning{"r_d", "cells that all windows read along the depth, less those of the padding"},
    Meaning{"r_h", "cells that all windows read down the height, less those of the padding"},
    Meaning{"r_w", "cells that all windows read across the width, less those of the padding"},
    Meaning{"B", "batch"},
    Meaning{"T", "length"},
    Meaning{"S", "length of key and value"},
};

/// Returns why a layer with this role has no variables; "" if the role does not exclude variables.
std::string_view reason_of(Role role) {
  switch (role) {
    case Role::input:
      return "it is an input of the model";
    case Role::training:
      return "it acts only in training, and keeps no variables";
    case Role::merge:
      return "it combines its inputs by a fixed rule";
    case Role::arrangement:
      return "it only moves elements";
    case Role::pooling:
      return "it computes means or maxima, a fixed rule";
    case Role::activation:
      return "it is a fixed function of its input";
    case Role::pass_through:
      return "it returns its input";
    case Role::other:
    case Role::tokens:
    case Role::embedding:
    case Role::attention:
    case Role::dot_attention:
    case Role::transformer:
    case Role::normalization:
    case Role::kernel:
    case Role::model:
    case Role::chain:
      return "";
  }
  return "";
}

/// Returns whether `name` equals `end`, or ends in '/' and `end`.
bool is_end(std::string_view name, std::string_view end) {
  return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '/');
}

}  // namespace

std::vector<std::string> symbols_of(const Layer& layer, std::string_view variable, const Shape& shape) {
  const std::string all = layer.symbols();
  for (const std::string& part : split(all, ';')) {
    const std::size_t begin = part.starts_with(' ') ? 1 : 0, colon = part.find(": ");
    if (colon == std::string::npos || !is_end(variable, part.substr(begin, colon - begin))) continue;
    std::vector<std::string> symbols = split(part.substr(colon + 2), ' ');
    if (static_cast<int>(symbols.size()) != shape.rank()) continue;
    for (std::string& symbol : symbols)
      if (symbol == "-") symbol.clear();
    return symbols;
  }
  return {};
}

std::string_view meaning_of(std::string_view symbol) {
  for (const Meaning& row : kMeanings)
    if (row.symbol == symbol) return row.meaning;
  return "";
}

std::string why_no_params(const Layer& layer) {
  if (layer.is_operation()) return "it is an operation, not a layer: it has no weights";
  if (!layer.built) return "it is not built: no input reaches it";
  const std::string_view reason = layer.info->no_params.empty() ? reason_of(layer.info->role) : layer.info->no_params;
  return std::string(reason.empty() ? "its computation is defined by its config" : reason);
}

}  // namespace attn::keras
