// Measures the links between the ranks of this run.
#pragma once

#include "attn/report/links_view.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Measures the links, and each rank's peaks of computing and reading while all ranks run; the slowest rank is
/// reported. Every rank calls it. It takes several seconds. Throws Error.
[[nodiscard]] report::LinksReport measure_links(Ranks& ranks);

}  // namespace attn::cli
