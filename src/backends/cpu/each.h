// Loops over the few rows and vectors whose sums stay in registers.
#pragma once

/// Unrolled at the compiler's word: around one loop that is not, GCC 12 keeps all sums in memory.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a variable that is declared stands in none.
#define ATTN_EACH(i, count) _Pragma("GCC unroll 12") for (int i = 0; i < (count); ++i)
