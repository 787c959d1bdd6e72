// Loops over the few rows and vectors whose accumulators stay in registers.
#pragma once

/// Forces unrolling: around a rolled loop GCC 12 keeps all accumulators in memory.
/// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared variable cannot be parenthesized.
#define ATTN_EACH(i, count) _Pragma("GCC unroll 12") for (int i = 0; i < (count); ++i)
