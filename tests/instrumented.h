// Builds with sanitizers or coverage, which are larger and many times slower.
#pragma once

namespace attn::test {

#if defined(ATTN_SANITIZED) || defined(ATTN_COVERAGE)
inline constexpr bool kIsInstrumented = true;
#else
inline constexpr bool kIsInstrumented = false;
#endif

}  // namespace attn::test
