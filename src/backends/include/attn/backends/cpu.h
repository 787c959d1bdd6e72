// The CPU backend: oneDNN for products, and simple vectorised loops around it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attn/backends/backend.h"

namespace attn::backends {

struct CpuOptions {
  /// What a thread must have to do, in floating-point operations or bytes, before it is woken for a step: waking it
  /// takes a few microseconds, in which a core does about this much. A test that wants threads everywhere says 1.
  double work_per_thread = 5e5;
  /// Fill the arena with NaN before every run, so that reading a value before it is written shows.
  bool poison_arena = false;
  /// Compute every product by a weight on emulated tiles of bfloat16, as a CPU with AMX would the large ones: for
  /// tests.
  bool emulate_tiles = false;
};

/// The library that is loaded.
struct OnednnLibrary {
  std::string version;  ///< "3.2.0"
  std::string isa;      ///< the newest instruction set that it uses here: "avx512_core_amx"; "" for one unknown to us
};
[[nodiscard]] OnednnLibrary onednn_library();

/// The newest instruction set that kernels use: "sse41", "avx2", "avx512", "avx512_bf16" or "amx", as the CPU has it
/// and the variable ATTN_ISA allows. Throws Error (usage) where that is another word.
[[nodiscard]] std::string_view kernel_isa();

/// Runs float32 with products by oneDNN or its own kernels, and loops of its own for the rest. On a CPU with
/// AVX-512's dot products of bfloat16 or AMX products of bfloat16 are computed as such, with float32 sums; on one with
/// AMX large ones of float32 in parts of bfloat16. Other half-precision work is done in float32 and rounded when it is
/// stored. What it has no kernel for runs on the reference's; Executable::choices() says which and why.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend();
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace attn::backends
