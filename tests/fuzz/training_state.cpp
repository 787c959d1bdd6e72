// attn_state.json: reading and writing gives the same file.
#include "attn/train/state.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    const std::string written = train::text_of(train::parse_state(text, "attn_state.json"));
    std::string again;
    if (!fuzz::accepts([&] { again = train::text_of(train::parse_state(written, "attn_state.json")); }))
      fuzz::fail("a state that is not read again", written);
    if (again != written) fuzz::fail("a state that changes", written);
  });
  return 0;
}
