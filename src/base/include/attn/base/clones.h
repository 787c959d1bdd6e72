// Function multiversioning.
#pragma once

// Compiles the following function for AVX-512, AVX2 and the base architecture; the loader picks one. Callees benefit
// only if they are inlined.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(ATTN_SANITIZED)
#define ATTN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTN_CLONES
#endif
