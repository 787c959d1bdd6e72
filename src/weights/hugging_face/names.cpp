#include "hugging_face/names.h"

#include <algorithm>
#include <map>
#include <optional>

namespace attn::weights {
namespace {

/// Returns the block number in a path, such as "12" if the pattern is "transformer_layer_{}/bias" and the path
/// "transformer_layer_12/bias". Returns "" if the pattern has no number, and empty if they do not match.
std::optional<std::string> number_in(std::string_view pattern, std::string_view path) {
  const std::size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos) return pattern == path ? std::optional<std::string>("") : std::nullopt;
  const std::string_view behind = pattern.substr(hole + 2);
  if (path.size() <= pattern.size() - 2 || !path.starts_with(pattern.substr(0, hole)) || !path.ends_with(behind))
    return std::nullopt;
  const std::string_view number = path.substr(hole, path.size() - hole - behind.size());
  constexpr std::size_t kMostDigits = 6;
  if (number.size() > kMostDigits || number.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return std::string(number);
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
    std::optional<std::string> number = number_in(row.keras, spelling);
    if (!number) continue;
    if (!number->empty()) number = std::to_string(std::stoi(*number) - table.first_block);
    return {&row, *number};
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
    fill("{}", block);
    fill("{expert}", std::to_string(expert));
  }
  return names;
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
