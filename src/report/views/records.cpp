#include "views/records.h"

#include <fmt/format.h>

#include "attn/base/text.h"

namespace attn::report {
namespace {

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? python_repr(value.get<double>()) : value.dump();
}

}  // namespace

std::string index_text(const std::vector<std::int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

Table csv_rows(const Json& records, const std::vector<std::string>& fields) {
  Table out;
  for (const std::string& field : fields) out.columns.push_back({field});
  for (const Json& record : records) {
    std::vector<std::string>& row = out.rows.emplace_back();
    for (const std::string& field : fields) row.push_back(cell_of(record[field]));
  }
  return out;
}

}  // namespace attn::report
