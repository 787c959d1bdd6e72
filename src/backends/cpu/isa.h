// Which instruction sets kernels use: the one place that decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace attn::backends::cpu {

/// Each with those before it: x86-64 with SSE 4.1; x86-64-v3; dot products of bytes, in 256 bits; x86-64-v4, which some
/// CPUs have without these; dot products of bytes; dot products of bfloat16; and tiles of it (AMX), which Linux has let
/// this process use.
enum class Isa : std::uint8_t { sse41 = 1, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx };

/// "avx512"
[[nodiscard]] std::string_view name_of(Isa isa);

/// The word's instruction set, as ATTN_ISA takes it. Throws Error (usage), naming the words, for another one.
[[nodiscard]] Isa parse_isa(std::string_view word);

/// What isa() gives, found now. Throws Error (usage) where ATTN_ISA has no such word, or where oneDNN, already at work
/// in this process, cannot be limited any more.
Isa find_isa();

namespace detail {
inline constinit std::atomic<std::uint8_t> found_isa = 0;  // 0: not yet
}

/// What the CPU has, or less where ATTN_ISA says so; then oneDNN uses no more either. The same for as long as the
/// process lives. Throws as find_isa() does.
[[nodiscard]] inline Isa isa() {
  const std::uint8_t found = detail::found_isa.load(std::memory_order_relaxed);
  return found != 0 ? static_cast<Isa>(found) : find_isa();
}

/// May dot products of four bytes be used (VPDPBUSD of AVX512-VNNI)?
[[nodiscard]] bool has_byte_dots();
/// The same in 256 bits, as AVX-VNNI encodes them, and as AVX-512 does on a CPU that has only these.
[[nodiscard]] bool has_avx_byte_dots();
[[nodiscard]] bool has_half_byte_dots();
/// Are there tiles of bytes (AMX-INT8) and dot products of bytes, and is isa() amx?
[[nodiscard]] bool has_byte_tiles();

/// Whether a dot product of pairs of bfloat16 (VDPBF16PS, from avx512_bf16 on) does more in a second than float32's
/// multiply-add. AMD's CPUs run both at the same rate, so that it does twice as much; Intel's run one dot product in
/// the time of four multiply-adds, so that it does half as much.
[[nodiscard]] bool dots_are_faster();

}  // namespace attn::backends::cpu
