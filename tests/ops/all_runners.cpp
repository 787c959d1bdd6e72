#include <cstdlib>

#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "runner.h"

#ifdef ATTN_CUDA_EMULATED
extern "C" attn::backends::Backend* attn_open_backend(int index);  // linked here, not opened
#endif

namespace attn::test {

std::vector<Runner> all_runners() {
  std::vector<Runner> result;
  // Backends without kernels for an instruction set have run without ATTN_ISA.
  const bool all = std::getenv("ATTN_ISA") == nullptr;
  if (all) result.push_back({"reference", backends::make_reference_backend({.poison_arena = true}), 0});
  result.push_back({"onednn", backends::make_cpu_backend({.poison_arena = true}), 0});
  const backends::CpuOptions everywhere{.work_per_thread = 1.0, .poison_arena = true};
  const backends::CpuOptions on_tiles{.work_per_thread = 1.0, .poison_arena = true, .emulate_tiles = true};
#ifdef ATTN_CUDA_EMULATED
  if (all) result.push_back({"cuda, emulated", std::unique_ptr<backends::Backend>(attn_open_backend(0)), 0, false});
#endif
  result.push_back({"onednn on 3 threads", backends::make_cpu_backend(everywhere), 3});
  result.push_back({"onednn on emulated tiles", backends::make_cpu_backend(on_tiles), 3});
  return result;
}

}  // namespace attn::test
