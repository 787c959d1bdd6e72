// A command line, whose words are separated by null characters. It is parsed, and its command not run.
#include "command_line.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  // Made once: parsing clears what an earlier parse has left.
  static cli::CommandLine line;
  const std::vector<std::string> words = split(fuzz::text_of(data, size), '\0');
  if (words.size() > 1000) return 0;
  fuzz::accepts([&] { static_cast<void>(line.parse(words)); }, ExitCode::usage);
  return 0;
}
