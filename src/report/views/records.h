// Results as records, for JSON and CSV, and the largest of them. Private to the module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/json.h"
#include "attn/report/table.h"

namespace attn::report {

inline constexpr double kMilliseconds = 1e3;  ///< in a second

/// Returns the value, or null.
template <typename Value>
[[nodiscard]] Json json_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

/// Returns an index as text: "[0, 12]".
[[nodiscard]] std::string index_text(const std::vector<std::int64_t>& index);

/// Returns fields of a list of objects as rows of CSV; null is an empty cell.
[[nodiscard]] Table csv_rows(const Json& records, const std::vector<std::string>& fields);

/// Returns at most `most` items, largest first; `size` returns the size of an item.
template <typename Item, typename Size>
[[nodiscard]] std::vector<const Item*> largest(const std::vector<Item>& items, std::size_t most, const Size& size) {
  std::vector<const Item*> out;
  for (const Item& item : items) out.push_back(&item);
  std::ranges::stable_sort(out, [&](const Item* a, const Item* b) { return size(*a) > size(*b); });
  out.resize(std::min(out.size(), most));
  return out;
}

}  // namespace attn::report
