// Other files of tokenizers; the first byte selects the kind.
#include <array>

#include "files/model_proto.h"
#include "files/text_lines.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  fuzz::accepts([&] {
    if (data[0] == 'R') {
      static_cast<void>(tokenizers::read_numbered_tokens(text, "vocabulary.txt"));
      return;
    }
    switch (data[0] % 4) {
      case 0:
        static_cast<void>(tokenizers::read_merges(text, "merges.txt"));
        break;
      case 1:
        static_cast<void>(tokenizers::read_token_lines(text, "vocabulary.txt"));
        break;
      case 2:
        static_cast<void>(tokenizers::read_token_table(text, "vocabulary.json"));
        break;
      default:
        static_cast<void>(tokenizers::read_model_proto(text, "vocabulary.spm"));
    }
  });
  return 0;
}
