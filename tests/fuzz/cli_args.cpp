// A command line with words separated by null characters. It is parsed, and its command is not run.
#include <optional>

#include "commands/commands.h"
#include "options/command_line.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  // Renewed only now and then, because that takes longer than parsing: CLI11 clears the results of an earlier parse
  // except the order of options, which would grow by hundreds of megabytes over millions of lines.
  static std::optional<cli::CommandLine> line;
  static unsigned lines = 0;
  if (lines++ % 10'000 == 0) line.emplace(cli::commands(), "attn");
  const std::vector<std::string> words = split(fuzz::text_of(data, size), '\0');
  if (words.size() > 1000) return 0;
  fuzz::accepts([&] { static_cast<void>(line->parse(words)); }, ExitCode::usage);
  return 0;
}
