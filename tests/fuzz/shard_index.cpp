// The index of sharded weights. No name in it may lead out of its folder.
#include "shards.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::accepts([&] {
    for (const std::string& name : weights::shard_names(fuzz::text_of(data, size), "model.weights.json")) {
      if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
          name.find('\0') != std::string::npos)
        fuzz::fail("a name that leaves the folder", name);
    }
  });
  return 0;
}
