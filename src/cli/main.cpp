// attn: parse the command line, run one command, turn what it throws into one line and an exit code.
#include <csignal>
#include <new>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "command_line.h"
#include "console.h"
#include "help.h"

namespace attn::cli {
namespace {

int run(const std::vector<std::string>& words) {
  CommandLine line;
  if (words.empty()) {
    write_result(help_text(line.named(), help_style()), std::nullopt);
    return static_cast<int>(ExitCode::usage);
  }
  switch (line.parse(words)) {
    case CommandLine::Asked::help:
      write_result(help_text(line.named(), help_style()), std::nullopt);
      return 0;
    case CommandLine::Asked::version:
      write_result("attn " ATTN_VERSION "\n", std::nullopt);
      return 0;
    case CommandLine::Asked::command:
      break;
  }
  return line.run(words);
}

}  // namespace
}  // namespace attn::cli

int main(int argc, char** argv) {
  using attn::ExitCode;
  const attn::cli::Console console;
  std::signal(SIGPIPE, SIG_DFL);
  attn::io::exit_where_a_mapped_file_shrinks();
  try {
    return attn::cli::run({argv + 1, argv + argc});
  } catch (const attn::Error& error) {
    console.error(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    console.error("out of memory");
    return static_cast<int>(ExitCode::no_memory);
  } catch (const std::exception& error) {
    console.error(std::string("internal error, please report it: ") + attn::printable(error.what()));
    return static_cast<int>(ExitCode::internal);
  }
}
