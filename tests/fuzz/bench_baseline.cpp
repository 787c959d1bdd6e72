// The parser of attn bench --baseline.
#include "attn/report/bench/bench_view.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::accepts([&] { static_cast<void>(report::parse_bench_json("old.json", fuzz::text_of(data, size))); });
  return 0;
}
