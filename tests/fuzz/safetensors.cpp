#include "attn/io/safetensors.h"

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::accepts([&] { static_cast<void>(io::parse_safetensors(fuzz::bytes_of(data, size), "x.safetensors")); });
  return 0;
}
