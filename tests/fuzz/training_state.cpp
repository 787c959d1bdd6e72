// attn_state.json: reading and writing gives the same file.
#include "training_state.h"

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    const std::string written = cli::text_of(cli::parse_training_state(text, "attn_state.json"));
    std::string again;
    if (!fuzz::accepts([&] { again = cli::text_of(cli::parse_training_state(written, "attn_state.json")); }))
      fuzz::fail("a state that is not read again", written);
    if (again != written) fuzz::fail("a state that changes", written);
  });
  return 0;
}
