// Grids of numbers as a page.
#pragma once

#include <string>

#include "attn/report/probe_view.h"

namespace attn::report {

/// Returns a page with the grids, whose cells show their numbers to pointer and keyboard, and with all records.
[[nodiscard]] std::string grid_page(const std::string& title, const ProbeReport& report);

}  // namespace attn::report
