#include "isa.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dnnl.hpp>

#include "attn/backends/cpu.h"
#include "attn/base/error.h"

namespace attn::backends::cpu {
namespace {

TEST_CASE("isa: unknown values of ATTN_ISA are usage errors that list the valid ones") {
  for (const Isa isa :
       {Isa::sse41, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
    CHECK(parse_isa(name_of(isa)) == isa);
  for (const char* word : {"", "AVX2", "avx", "avx512 ", "sse2", "\x1b[31m"}) {
    try {
      (void)parse_isa(word);
      FAIL("taken");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK(
          std::string(error.what()).find("expected sse41, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16 or amx") !=
          std::string::npos);
    }
  }
}

TEST_CASE("isa: kernels and oneDNN use only what ATTN_ISA allows") {
  CHECK(kernel_isa() == name_of(isa()));
  const char* const limit = std::getenv("ATTN_ISA");
  if (limit == nullptr || *limit == '\0') return;
  CHECK(isa() <= parse_isa(limit));
  const auto used = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [&](dnnl::cpu_isa some) {
    return (used & static_cast<unsigned>(some)) == static_cast<unsigned>(some);
  };
  CHECK(has(dnnl::cpu_isa::avx2) == (isa() >= Isa::avx2));
  CHECK(has(dnnl::cpu_isa::avx512_core) == (isa() >= Isa::avx512));
}

}  // namespace
}  // namespace attn::backends::cpu
