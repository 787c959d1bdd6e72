// The instruction sets that kernels use: the only place that decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace attn::backends::cpu {

/// Each includes the ones before it: x86-64 with SSE 4.1; x86-64-v3; int8 dot products in 256 bits; x86-64-v4, which
/// some CPUs have without these; int8 dot products in 512 bits; bfloat16 dot products; bfloat16 tiles (AMX), which
/// Linux has enabled for this process.
enum class Isa : std::uint8_t { sse41 = 1, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx };

/// "avx512"
[[nodiscard]] std::string_view name_of(Isa isa);

/// Parses a value of ATTN_ISA. Throws Error (usage), listing the valid values, for another one.
[[nodiscard]] Isa parse_isa(std::string_view word);

/// Determines the result of isa(). Throws Error (usage) for an unknown value of ATTN_ISA, and if oneDNN is already in
/// use in this process and can no longer be limited.
Isa find_isa();

namespace detail {
inline constinit std::atomic<std::uint8_t> found_isa = 0;  // 0: not determined yet
}

/// Returns the CPU's instruction set, or a lower one set by ATTN_ISA, which then limits oneDNN too. Constant for the
/// process. Throws as find_isa() does.
[[nodiscard]] inline Isa isa() {
  const std::uint8_t found = detail::found_isa.load(std::memory_order_relaxed);
  return found != 0 ? static_cast<Isa>(found) : find_isa();
}

/// Whether dot products of four bytes may be used (VPDPBUSD of AVX512-VNNI).
[[nodiscard]] bool has_int8_dots();
/// Whether 256-bit dot products of four bytes may be used in the encoding of AVX-VNNI (VPDPBUSD).
[[nodiscard]] bool has_avx_int8_dots();
/// Whether 256-bit dot products of four bytes may be used in the encoding of AVX-512 (VPDPBUSD of AVX512-VNNI).
[[nodiscard]] bool has_half_int8_dots();
/// Whether int8 tiles (AMX-INT8) and int8 dot products exist and isa() is amx.
[[nodiscard]] bool has_int8_tiles();

/// Whether a dot product of bfloat16 pairs (VDPBF16PS, from avx512_bf16 on) has more throughput than float32's
/// multiply-add. AMD's CPUs run both at the same rate, which is twice the throughput. Intel's run one dot product in
/// the time of four multiply-adds, which is half of it.
[[nodiscard]] bool dots_are_faster();

}  // namespace attn::backends::cpu
