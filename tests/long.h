// What takes long and finds little on a small change.
#pragma once

#include <cstdlib>

namespace attn::test {

/// Whether it is asked for (make test-long).
[[nodiscard]] inline bool runs_long() { return std::getenv("ATTN_TEST_LONG") != nullptr; }

}  // namespace attn::test
