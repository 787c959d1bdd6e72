#include "attn/io/npy.h"

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::accepts([&] { static_cast<void>(io::parse_npy(fuzz::bytes_of(data, size), "x.npy")); });
  fuzz::accepts([&] { static_cast<void>(io::parse_text_npy(fuzz::bytes_of(data, size), "x.npy")); });
  return 0;
}
