// The wgmma instruction: the matrix products of a warpgroup on Hopper's tensor cores, in the sizes that attention and
// small GEMMs use.
//
// The accumulator d (64, N) is float32 in registers. In warp w, with g = lane / 4 and t = lane % 4, register 4j + 2r +
// e holds (16w + 8r + g, 8j + 2t + e). A left operand in registers is laid out as for mma.sync (ptx.h), each warp with
// its 16 rows.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ptx.h"

#ifndef ATTN_CUDA_EMULATED

// clang-format off: it would put each operand of these long lists on its own line
// Operands: 8, 32 or 64 registers of d, from i on; and how the assembly names them.
#define ATTN_D8(i)                                                                                            \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define ATTN_D32(i) ATTN_D8(i), ATTN_D8(i + 8), ATTN_D8(i + 16), ATTN_D8(i + 24)
#define ATTN_D64(i) ATTN_D32(i), ATTN_D32(i + 32)
#define ATTN_NAMES_0_31                                                                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define ATTN_NAMES_32_63                                                                                           \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, " \
  "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ATTN_NAMES_64_87                                                                                           \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
  "%86, %87"
#define ATTN_NAMES_64_127                                                                                            \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, "   \
  "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, " \
  "%107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "     \
  "%125, %126, %127"
// clang-format on

// One wgmma instruction. The predicate selects accumulation into d; 1, 1 are the signs of the operands; the last
// arguments select transposed operands.
#define ATTN_PRODUCT(type, n, d_names, operands, predicate, transposed)                                               \
  "{\n.reg .pred p;\nsetp.ne.b32 p, " predicate                                                                       \
  ", 0;\n"                                                                                                            \
  "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" d_names "}, " operands ", p, 1, 1, " transposed \
  ";\n}"

namespace attn::cuda::ptx {

/// Begins d = a·bᵀ, or d += a·bᵀ if `accumulate` is 1, for a (64, 16) and b (N, 16) in shared memory, given by
/// descriptor().
template <typename Half, int N>
__device__ __forceinline__ void begin_product(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
  static_assert(N == 64 || N == 128 || N == 176);
  if constexpr (std::is_same_v<Half, __half>) {
    if constexpr (N == 64) {
      asm volatile(ATTN_PRODUCT("f16", "64", ATTN_NAMES_0_31, "%32, %33", "%34", "0, 0")
                   : ATTN_D32(0)
                   : "l"(a), "l"(b), "r"(accumulate));
    } else if constexpr (N == 128) {
      asm volatile(ATTN_PRODUCT("f16", "128", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63, "%64, %65", "%66", "0, 0")
                   : ATTN_D64(0)
                   : "l"(a), "l"(b), "r"(accumulate));
    } else if constexpr (N == 176) {
      asm volatile(ATTN_PRODUCT("f16", "176", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63 ", " ATTN_NAMES_64_87, "%88, %89",
                                "%90", "0, 0")
                   : ATTN_D64(0), ATTN_D8(64), ATTN_D8(72), ATTN_D8(80)
                   : "l"(a), "l"(b), "r"(accumulate));
    }
  } else {
    if constexpr (N == 64) {
      asm volatile(ATTN_PRODUCT("bf16", "64", ATTN_NAMES_0_31, "%32, %33", "%34", "0, 0")
                   : ATTN_D32(0)
                   : "l"(a), "l"(b), "r"(accumulate));
    } else if constexpr (N == 128) {
      asm volatile(ATTN_PRODUCT("bf16", "128", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63, "%64, %65", "%66", "0, 0")
                   : ATTN_D64(0)
                   : "l"(a), "l"(b), "r"(accumulate));
    } else if constexpr (N == 176) {
      asm volatile(ATTN_PRODUCT("bf16", "176", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63 ", " ATTN_NAMES_64_87, "%88, %89",
                                "%90", "0, 0")
                   : ATTN_D64(0), ATTN_D8(64), ATTN_D8(72), ATTN_D8(80)
                   : "l"(a), "l"(b), "r"(accumulate));
    }
  }
}

/// Begins d += a·b for a (64, 16) in registers and b (16, N) in shared memory.
template <typename Half, int N>
__device__ __forceinline__ void begin_product(float (&d)[N / 2], const std::uint32_t (&a)[4], std::uint64_t b) {
  static_assert(N == 64 || N == 128 || N == 256);
  constexpr int accumulate = 1;
  if constexpr (std::is_same_v<Half, __half>) {
    if constexpr (N == 64) {
      asm volatile(ATTN_PRODUCT("f16", "64", ATTN_NAMES_0_31, "{%32, %33, %34, %35}, %36", "%37", "1")
                   : ATTN_D32(0)
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
    } else if constexpr (N == 128) {
      asm volatile(
          ATTN_PRODUCT("f16", "128", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63, "{%64, %65, %66, %67}, %68", "%69", "1")
          : ATTN_D64(0)
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
    } else if constexpr (N == 256) {
      asm volatile(ATTN_PRODUCT("f16", "256", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63 ", " ATTN_NAMES_64_127,
                                "{%128, %129, %130, %131}, %132", "%133", "1")
                   : ATTN_D64(0), ATTN_D64(64)
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
    }
  } else {
    if constexpr (N == 64) {
      asm volatile(ATTN_PRODUCT("bf16", "64", ATTN_NAMES_0_31, "{%32, %33, %34, %35}, %36", "%37", "1")
                   : ATTN_D32(0)
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
    } else if constexpr (N == 128) {
      asm volatile(
          ATTN_PRODUCT("bf16", "128", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63, "{%64, %65, %66, %67}, %68", "%69", "1")
          : ATTN_D64(0)
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
    } else if constexpr (N == 256) {
      asm volatile(ATTN_PRODUCT("bf16", "256", ATTN_NAMES_0_31 ", " ATTN_NAMES_32_63 ", " ATTN_NAMES_64_127,
                                "{%128, %129, %130, %131}, %132", "%133", "1")
                   : ATTN_D64(0), ATTN_D64(64)
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
    }
  }
}

/// Begins d += a·b for a (64, 16) and b (16, 64) in shared memory.
template <typename Half>
__device__ __forceinline__ void begin_product_of_rows(float (&d)[32], std::uint64_t a, std::uint64_t b) {
  constexpr int accumulate = 1;
  if constexpr (std::is_same_v<Half, __half>) {
    asm volatile(ATTN_PRODUCT("f16", "64", ATTN_NAMES_0_31, "%32, %33", "%34", "0, 1")
                 : ATTN_D32(0)
                 : "l"(a), "l"(b), "r"(accumulate));
  } else {
    asm volatile(ATTN_PRODUCT("bf16", "64", ATTN_NAMES_0_31, "%32, %33", "%34", "0, 1")
                 : ATTN_D32(0)
                 : "l"(a), "l"(b), "r"(accumulate));
  }
}

}  // namespace attn::cuda::ptx

#undef ATTN_D8
#undef ATTN_D32
#undef ATTN_D64
#undef ATTN_NAMES_0_31
#undef ATTN_NAMES_32_63
#undef ATTN_NAMES_64_87
#undef ATTN_NAMES_64_127
#undef ATTN_PRODUCT

#endif
