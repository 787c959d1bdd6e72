// Hugging Face's tokenizer.json, and encoding with it.
#include "files/tokenizer_json.h"

#include "pipeline/pipeline.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  constexpr std::string_view kText = "It's the model, 12 tokens:  caf\u00e9 <|endoftext|>\n[MASK] \u6771\u4eac";
  fuzz::accepts([&] {
    tokenizers::PipelineParts parts =
        tokenizers::parts_of(tokenizers::read_tokenizer_json(fuzz::text_of(data, size), "tokenizer.json"));
    const tokenizers::Pipeline tokenizer(std::move(parts));
    const std::vector<tokenizers::Id> ids = tokenizer.encode(kText);
    for (const tokenizers::Id id : ids)
      if (!tokenizer.token(id)) fuzz::fail("an id without a token", std::to_string(id));
    static_cast<void>(tokenizer.decode(ids));
  });
  return 0;
}
