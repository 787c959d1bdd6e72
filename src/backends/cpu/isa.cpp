#include "isa.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "attn/backends/cpu.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace attn::backends::cpu {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 7> kNames = {{{Isa::sse41, "sse41"},
                                                                     {Isa::avx2, "avx2"},
                                                                     {Isa::avx2_vnni, "avx2_vnni"},
                                                                     {Isa::avx512, "avx512"},
                                                                     {Isa::avx512_vnni, "avx512_vnni"},
                                                                     {Isa::avx512_bf16, "avx512_bf16"},
                                                                     {Isa::amx, "amx"}}};

/// Returns oneDNN's limit if kernels are limited to less than AMX.
dnnl::cpu_isa library_limit(Isa limit) {
  switch (limit) {
    case Isa::sse41:
      return dnnl::cpu_isa::sse41;
    case Isa::avx2:
      return dnnl::cpu_isa::avx2;
    case Isa::avx2_vnni:
      return dnnl::cpu_isa::avx2_vnni;
    case Isa::avx512:
      return dnnl::cpu_isa::avx512_core;
    case Isa::avx512_vnni:
      return dnnl::cpu_isa::avx512_core_vnni;
    default:
      return dnnl::cpu_isa::avx512_core_fp16;
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool has_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }
bool has_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
bool is_intel() { return __builtin_cpu_is("intel"); }
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
bool has_bf16() { return false; }
bool has_vnni() { return false; }
bool is_intel() { return false; }
#endif

#if defined(__x86_64__) && defined(__linux__)
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  constexpr unsigned kTile = 1U << 24, kBfloat16 = 1U << 22;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTile) == 0 || (d & kBfloat16) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileState = (1U << 17) | (1U << 18);  // state components of tiles: configuration and data
  if ((low & kTileState) != kTileState) return false;
  // Linux reserves no space for 8 KB of tiles in a thread's state until a process requests it.
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

bool has_amx_int8() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBytes = 1U << 25;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBytes) != 0;
}

bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAvxVnni = 1U << 4;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0;
}
#else
bool has_amx() { return false; }
bool has_amx_int8() { return false; }
bool has_avx_vnni() { return false; }
#endif

Isa isa_of_cpu(Isa limit) {
  if (limit == Isa::sse41 || !has_avx2()) return Isa::sse41;
  if (limit == Isa::avx2) return Isa::avx2;
  if (limit == Isa::avx2_vnni || !has_avx512()) return has_avx_vnni() || has_vnni() ? Isa::avx2_vnni : Isa::avx2;
  if (limit == Isa::avx512 || !has_vnni()) return Isa::avx512;
  if (limit == Isa::avx512_vnni || !has_bf16()) return Isa::avx512_vnni;
  return limit == Isa::avx512_bf16 || !has_amx() ? Isa::avx512_bf16 : Isa::amx;
}

Isa choose() {
  const char* const word = std::getenv("ATTN_ISA");
  if (word == nullptr || *word == '\0') return isa_of_cpu(Isa::amx);
  const Isa limit = parse_isa(word);
  if (limit != Isa::amx && dnnl::set_max_cpu_isa(library_limit(limit)) != dnnl::status::success)
    throw bad_usage("ATTN_ISA={}: oneDNN is already at work in this process and cannot be limited", word);
  return isa_of_cpu(limit);
}

}  // namespace

std::string_view name_of(Isa isa) {
  for (const auto& [one, name] : kNames)
    if (one == isa) return name;
  return "";
}

Isa parse_isa(std::string_view word) {
  for (const auto& [isa, name] : kNames)
    if (name == word) return isa;
  throw bad_usage("ATTN_ISA '{}': expected sse41, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16 or amx",
                  printable(word));
}

Isa find_isa() {
  static const Isa found = choose();  // initialized once for all threads, and again after an exception
  detail::found_isa = static_cast<std::uint8_t>(found);
  return found;
}

bool has_int8_dots() { return isa() >= Isa::avx512_vnni; }
bool has_avx_int8_dots() { return (isa() == Isa::avx2_vnni || has_int8_dots()) && has_avx_vnni(); }
bool has_half_int8_dots() { return (isa() == Isa::avx2_vnni || has_int8_dots()) && has_vnni(); }
bool has_int8_tiles() { return isa() == Isa::amx && has_int8_dots() && has_amx_int8(); }

bool dots_are_faster() { return isa() >= Isa::avx512_bf16 && !is_intel(); }

}  // namespace attn::backends::cpu

namespace attn::backends {

std::string_view kernel_isa() {
#if defined(__x86_64__)
  return cpu::name_of(cpu::isa());
#else
  (void)cpu::isa();  // reports a wrong ATTN_ISA
  return "portable";
#endif
}

}  // namespace attn::backends
