#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "attn/backends/cpu.h"
#include "isa.h"

namespace attn::backends {
namespace {

const char* isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "";
  }
}

}  // namespace

OnednnLibrary onednn_library() {
  (void)cpu::isa();  // sets oneDNN's limit, which must precede the first call
  const dnnl_version_t& version = *dnnl_version();
  return {fmt::format("{}.{}.{}", version.major, version.minor, version.patch),
          isa_name(dnnl::get_effective_cpu_isa())};
}

}  // namespace attn::backends
