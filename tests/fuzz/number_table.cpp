#include "attn/io/number_table.h"

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::accepts([&] {
    static_cast<void>(io::read_number_table({reinterpret_cast<const char*>(data), size}, "x.csv"));
  });
  return 0;
}
