// The CPU backend: oneDNN and attn's own kernels for products, and vectorized loops for the rest.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attn/backends/backend.h"

namespace attn::backends {

struct CpuOptions {
  /// The work per thread, in floating-point operations or bytes, above which another thread is woken for a step. Waking
  /// a thread takes a few microseconds, in which a core does about this much work. Tests that need threads everywhere
  /// set 1.
  double work_per_thread = 5e5;
  /// Fill the arena with NaN before every run, to reveal reads of uninitialized values.
  bool poison_arena = false;
  /// For tests: computes every product with a weight on emulated bfloat16 tiles, as a CPU with AMX does for large
  /// products.
  bool emulate_tiles = false;
};

/// The loaded oneDNN library.
struct OnednnLibrary {
  std::string version;  ///< "3.2.0"
  std::string isa;      ///< the newest instruction set that it uses on this CPU: "avx512_core_amx"; "" if unknown
};
[[nodiscard]] OnednnLibrary onednn_library();

/// Returns the newest instruction set that kernels use: "sse41", "avx2", … or "amx"; "portable" where it is not x86-64.
/// The CPU and the variable ATTN_ISA limit it. Throws Error (usage) if ATTN_ISA has another value.
[[nodiscard]] std::string_view kernel_isa();

/// Makes the CPU backend. It computes float32 products with oneDNN or its own kernels, and the rest with its own loops.
/// On a CPU with AVX-512 BF16 or AMX, products of bfloat16 use bfloat16 instructions with float32 accumulators. With
/// AMX, large float32 products are sums of products of bfloat16 parts. Other half-precision work is done in float32 and
/// rounded on store. Operations without a kernel run on the reference loops; Executable::choices() gives the reasons.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend();
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace attn::backends
