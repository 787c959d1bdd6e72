// Measures the links between the ranks of this run.
#pragma once

#include "attn/report/links_view.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Every rank calls it. It takes some seconds, in which all ranks also measure their own peaks of computing and reading
/// at the same time; the slowest one is reported. Throws Error.
[[nodiscard]] report::LinksReport measure_links(Ranks& ranks);

}  // namespace attn::cli
