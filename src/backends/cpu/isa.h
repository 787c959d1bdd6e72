// The instruction sets that kernels use. Only this file decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace attn::backends::cpu {

/// Each set includes the sets before it. They are x86-64 with SSE 4.1; x86-64-v3; int8 dot products in 256 bits;
/// x86-64-v4, which some CPUs have without these; int8 dot products in 512 bits; bfloat16 dot products; and bfloat16
/// tiles (AMX), if Linux has enabled them for this process.
enum class Isa : std::uint8_t { sse41 = 1, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx };

/// "avx512"
[[nodiscard]] std::string_view name_of(Isa isa);

/// Parses a value of ATTN_ISA. Throws Error (usage), with the valid values, for any other value.
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

/// Returns whether int8 dot products may be used (VPDPBUSD of AVX512-VNNI).
[[nodiscard]] bool has_int8_dots();
/// Returns whether 256-bit int8 dot products may be used in the encoding of AVX-VNNI.
[[nodiscard]] bool has_avx_int8_dots();
/// Returns whether 256-bit int8 dot products may be used in the encoding of AVX-512 (AVX512-VNNI).
[[nodiscard]] bool has_half_int8_dots();
/// Returns whether int8 tiles (AMX-INT8) and int8 dot products exist, and isa() is amx.
[[nodiscard]] bool has_int8_tiles();

/// Returns whether a dot product of bfloat16 pairs (VDPBF16PS, from avx512_bf16 on) has more throughput than float32's
/// multiply-add. On AMD's CPUs both have the same rate, so the dot product has twice the throughput. On Intel's CPUs
/// one dot product takes as long as four multiply-adds, which is half the throughput.
[[nodiscard]] bool dots_are_faster();

}  // namespace attn::backends::cpu
