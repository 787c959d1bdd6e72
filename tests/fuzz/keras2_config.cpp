// Keras 2 configs, which are translated first.
#include "model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::read_and_show("model.json", std::string(fuzz::text_of(data, size)));
  return 0;
}
