// The sections after the table of a benchmark: peaks of the machine, profiles, operations.
#pragma once

#include <string>
#include <vector>

#include "attn/report/table.h"
#include "attn/report/values.h"

namespace attn::report {

struct Section {
  std::string title;
  Table table;
};

[[nodiscard]] std::vector<Section> sections_of(const BenchReport& report);

}  // namespace attn::report
