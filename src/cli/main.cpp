// attn: parses the command line, runs one command, and turns an exception into one line and an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "attn/backends/cpu.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "commands/commands.h"
#include "commands/help.h"
#include "options/command_line.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "output/outputs.h"
#include "output/provenance.h"
#include "output/version_text.h"
#include "ranks/ranks.h"

namespace attn::cli {
namespace {

int run(const std::vector<std::string>& words) {
  CommandLine line(commands(), "attn " ATTN_VERSION);
  if (words.empty()) {
    write_result(help_text(line.named(), line.program(), help_style()), std::nullopt);
    return static_cast<int>(ExitCode::usage);
  }
  switch (line.parse(words)) {
    case CommandLine::Action::help:
      write_result(help_text(line.named(), line.program(), help_style()), std::nullopt);
      return 0;
    case CommandLine::Action::version:
      write_result(version_text(), std::nullopt);
      return 0;
    case CommandLine::Action::command:
      break;
  }
  keep_command(words);
  (void)backends::kernel_isa();  // a wrong ATTN_ISA is reported before anything is read
  check_outputs(line.outputs(), line.inputs());
  return line.run();
}

/// Returns whether the error means that memory or threads are exhausted.
bool is_lack_of_memory(const std::system_error& error) {
  return error.code() == std::errc::not_enough_memory || error.code() == std::errc::resource_unavailable_try_again;
}

/// Prints the current exception and returns its exit code.
int told(const Console& console) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::usage) wait_for_turn();
    console.error(error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    console.error("out of memory");
    return static_cast<int>(ExitCode::no_memory);
  } catch (const std::system_error& error) {
    console.error(error.what());
    return static_cast<int>(is_lack_of_memory(error) ? ExitCode::no_memory : ExitCode::internal);
  } catch (const std::exception& error) {
    console.error(std::string("internal error, please report it: ") + printable(error.what()));
    return static_cast<int>(ExitCode::internal);
  }
}

bool is_over = false;  // whether main has ended

/// A library that ends the program (libgomp without memory or threads) has printed the reason on stderr.
void on_exit_of_a_library(int, void*) {
  if (is_over) return;
  io::remove_temporaries();
  std::_Exit(static_cast<int>(ExitCode::no_memory));
}

/// Handles missing memory in a thread, or where exceptions are not allowed.
[[noreturn]] void on_terminate() {
  io::remove_temporaries();
  if (std::current_exception()) std::_Exit(told({}));
  std::abort();
}

/// Opens the standard descriptors that the caller has closed, so that no output file gets their numbers and then the
/// text for the terminal. Reading and writing there fail as before.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace
}  // namespace attn::cli

int main(int argc, char** argv) {
  using namespace attn::cli;
  occupy_closed_descriptors();
  std::set_terminate(on_terminate);
  on_exit(on_exit_of_a_library, nullptr);
  end_cleanly_on_signals();
  attn::io::exit_where_a_mapped_file_shrinks();
  const Console console;
  int code = 0;
  try {
    code = run({argv + 1, argv + argc});
  } catch (...) {
    code = told(console);
  }
  is_over = true;
  return code;
}
