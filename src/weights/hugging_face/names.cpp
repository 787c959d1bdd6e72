#include "hugging_face/names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace attn::weights {
namespace {

using Numbers = std::vector<std::string>;

/// Returns the numbers in a path that a pattern leaves open, such as "12" if the pattern is "transformer_layer_{}/bias"
/// and the path "transformer_layer_12/bias". Empty if they do not match.
std::optional<Numbers> numbers_in(std::string_view pattern, std::string_view path) {
  Numbers numbers;
  while (true) {
    const std::size_t hole = pattern.find("{}");
    if (hole == std::string_view::npos) return pattern == path ? std::optional(numbers) : std::nullopt;
    if (!path.starts_with(pattern.substr(0, hole))) return std::nullopt;
    path.remove_prefix(hole);
    pattern.remove_prefix(hole + 2);
    const std::size_t digits = std::min(path.find_first_not_of("0123456789"), path.size());
    constexpr std::size_t kMostDigits = 6;
    if (digits == 0 || digits > kMostDigits) return std::nullopt;
    numbers.emplace_back(path.substr(0, digits));
    path.remove_prefix(digits);
  }
}

/// The same for a pattern that may begin with "*".
std::optional<Numbers> numbers_behind_name(std::string_view pattern, std::string_view path) {
  if (!pattern.starts_with('*')) return numbers_in(pattern, path);
  pattern.remove_prefix(1);
  const std::string_view first = path.substr(0, path.find('/'));
  for (std::size_t begin = 0; begin < first.size(); ++begin) {
    if (begin > 0 && path[begin - 1] != '_') continue;
    if (auto numbers = numbers_in(pattern, path.substr(begin))) return numbers;
  }
  return std::nullopt;
}

/// Removes the number that Keras appends to a layer's name if a block has several layers of its class:
/// "transformer_layer_1/mixtral_sparse_moe_block_1/…", "transformer_encoder_layer_1/t5_layer_norm_2/…".
std::string without_counter(std::string_view path) {
  std::string out(path);
  const std::size_t first = out.find('/'), second = out.find('/', first + 1);
  if (second == std::string::npos) return out;
  std::size_t from = second;
  while (from > 0 && out[from - 1] >= '0' && out[from - 1] <= '9') --from;
  if (from < second && from > first + 1 && out[from - 1] == '_') out.erase(from - 1, second - from + 1);
  return out;
}

/// Returns the row whose pattern matches a path.
FoundName row_of(const NameTable& table, std::string_view spelling) {
  for (const NameRow& row : table.rows) {
    std::optional<Numbers> numbers = numbers_behind_name(row.keras, spelling);
    if (!numbers) continue;
    for (std::string& number : *numbers) number = std::to_string(std::stoi(number) - table.first_block);
    return {&row, std::move(*numbers)};
  }
  return {};
}

}  // namespace

const NameTable* find_names(std::span<const NameTable> tables, std::string_view backbone,
                            std::span<const graph::WeightSpec> specs) {
  for (const NameTable& table : tables) {
    if (table.backbone != backbone) continue;
    const bool has = table.mark.empty() || std::any_of(specs.begin(), specs.end(), [&](const graph::WeightSpec& spec) {
                       return spec.path.find(table.mark) != std::string::npos;
                     });
    if (has) return &table;
  }
  return nullptr;
}

std::vector<std::string> FoundName::arrays(Dim expert) const {
  std::vector<std::string> names{std::string(row->hugging_face)};
  if (!row->second_half.empty()) names.emplace_back(row->second_half);
  for (std::string& name : names) {
    const auto fill = [&](std::string_view hole, const std::string& text) {
      if (const std::size_t at = name.find(hole); at != std::string::npos) name.replace(at, hole.size(), text);
    };
    for (const std::string& block : blocks) fill("{}", block);
    fill("{expert}", std::to_string(expert));
  }
  return names;
}

std::vector<std::string> alternatives(const std::string& array) {
  const std::size_t begin = array.find('{'), end = array.find('}', begin);
  if (begin == std::string::npos || array.find(',', begin) > end) return {array};
  std::vector<std::string> out;
  for (std::size_t at = begin; at < end;) {
    const std::size_t next = std::min(array.find(',', at + 1), end);
    out.push_back(array.substr(0, begin) + array.substr(at + 1, next - at - 1) + array.substr(end + 1));
    at = next;
  }
  return out;
}

std::vector<FoundName> find_rows(const NameTable& table, std::span<const graph::WeightSpec> specs) {
  std::map<std::string, int> seen;
  std::vector<FoundName> out;
  for (const graph::WeightSpec& spec : specs) {
    const std::string bare = without_counter(spec.path);
    const std::string counted = bare + "#" + std::to_string(seen[bare]++);
    FoundName& found = out.emplace_back();
    for (const std::string_view spelling :
         {std::string_view(spec.path), std::string_view(bare), std::string_view(counted)}) {
      if (found.row == nullptr) found = row_of(table, spelling);
    }
  }
  return out;
}

}  // namespace attn::weights
