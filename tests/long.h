// Tests that take long and rarely find anything after a small change.
#pragma once

#include <cstdlib>

namespace attn::test {

/// Returns whether they are requested (make test-long).
[[nodiscard]] inline bool runs_long() { return std::getenv("ATTN_TEST_LONG") != nullptr; }

}  // namespace attn::test
