// What lies between the ranks that this process was started with.
#pragma once

#include "attn/report/links_view.h"
#include "ranks/ranks.h"

namespace attn::cli {

/// Every rank calls it. Takes some seconds, in which all ranks also measure what they compute and read at best at the
/// same time; the slowest counts. Throws Error.
[[nodiscard]] report::LinksReport measure_links(Ranks& ranks);

}  // namespace attn::cli
