// The CPU backend: oneDNN for products, and simple vectorised loops around it.
#pragma once

#include <memory>
#include <string>

#include "attn/backends/backend.h"

namespace attn::backends {

struct OnednnOptions {
  /// What a thread must have to do, in floating-point operations or bytes, before it is woken for a step: waking it
  /// takes a few microseconds, in which a core does about this much. A test that wants threads everywhere says 1.
  double work_per_thread = 5e5;
  /// Fill the arena with NaN before every run, so that reading a value before it is written shows.
  bool poison_arena = false;
};

/// The library that is loaded.
struct OnednnLibrary {
  std::string version;  ///< "3.2.0"
  std::string isa;      ///< the newest instruction set that it uses here: "avx512_core_amx"; "" for one unknown to us
};
[[nodiscard]] OnednnLibrary onednn_library();

/// Runs float32 with products by oneDNN and loops of its own for the rest; bfloat16 products as bfloat16 with float32
/// sums; other half-precision work in float32, rounded when it is stored. What it has no kernel for runs on the
/// reference's; Executable::choices() says which and why.
[[nodiscard]] std::unique_ptr<Backend> make_onednn_backend();
[[nodiscard]] std::unique_ptr<Backend> make_onednn_backend(const OnednnOptions& options);

}  // namespace attn::backends
