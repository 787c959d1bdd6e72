// Functions that are compiled several times.
#pragma once

// A function with this before it is compiled for AVX-512, AVX2 and the base architecture; the loader picks one. What it
// calls must be inlined into it to profit.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(ATTN_SANITIZED)
#define ATTN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTN_CLONES
#endif
