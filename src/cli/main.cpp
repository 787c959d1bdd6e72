// attn: parse the command line, run one command, turn what it throws into one line and an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "command.h"
#include "console.h"
#include "environment.h"
#include "help.h"
#include "interrupt.h"
#include "option_tree.h"
#include "usage.h"

namespace attn::cli {
namespace {

constexpr std::array kCommands = {
    Command{"summary", "show the model as Keras does, layer by layer", add_summary},
    Command{"explain", "where a layer's parameters and FLOPs come from, line by line", add_explain},
    Command{"validate", "list all that is wrong with a model, and what may surprise", add_validate},
    Command{"run", "a forward pass on random or file inputs", add_run},
    Command{"compare", "hold two runs, or two models, against each other", add_compare},
    Command{"plot", "the layers and their connections as a picture: SVG, DOT, Mermaid", add_plot},
    Command{"heatmap", "what each head attends to: figures, a preview, HTML, SVG, PNG", add_heatmap},
    Command{"report", "all about a model on one page: summary, costs, attention, graph", add_report},
    Command{"bench", "measure latency and throughput", add_bench},
    Command{"get-config", "the config as Keras prints or saves it", add_get_config},
    Command{"weights", "list the arrays of a file, check or compare them", add_weights},
    Command{"convert", "weights from one form of file to another", add_convert},
    Command{"init", "write a model's initial weights", add_init},
    Command{"devices", "what this machine can run a model on, and what is missing", add_devices},
    Command{"doctor", "what works here, what does not and why, for a bug report", add_doctor},
    Command{"completion", "a script that completes command lines in bash, zsh or fish", add_completion},
    Command{"man", "manual pages", add_man},
    Command{"help", "all commands, or one of them with examples", add_help},
};

/// The command that the words name; null where they name none. Throws Error (usage): CLI11 does not say which word it
/// does not know.
CLI::App* chosen_command(const CLI::App& program, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.rfind('-', 0) != 0) return program.get_subcommand(command_named(program, word).get_name());
    if (program.get_option_no_throw(word) == nullptr) return nullptr;  // what follows may be its value
  }
  return nullptr;
}

int run(const std::vector<std::string>& words) {
  CLI::App app("attn opens a Keras attention model without Python: it shows the model, runs it, and measures it.",
               "attn");
  app.set_help_flag("-h,--help", "this page");
  app.set_version_flag("--version", "attn " ATTN_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Run>> commands;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.description);
    commands.emplace_back(sub, command.add(*sub));
  }
  if (words.empty()) {
    write_result(help_text(app, help_style()), std::nullopt);
    return static_cast<int>(ExitCode::usage);
  }
  CLI::App* chosen = nullptr;
  try {
    chosen = chosen_command(app, words);
    if (chosen != nullptr) read_variables(app, *chosen);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    write_result(help_text(chosen == nullptr ? app : *chosen, help_style()), std::nullopt);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    write_result(std::string(version.what()) + "\n", std::nullopt);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, chosen, error, words);
  }
  for (const auto& [sub, command] : commands) {
    if (sub != chosen) continue;
    try {
      return command();
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage) throw;
      throw with_variable(error, *sub, words);
    }
  }
  throw internal_error("no command for '{}'", printable(words.front()));
}

/// Memory or threads that the system did not give, by the names that the standard library has for it.
bool is_lack_of_memory(const std::system_error& error) {
  return error.code() == std::errc::not_enough_memory || error.code() == std::errc::resource_unavailable_try_again;
}

/// The exit code of what is being thrown, after its sentence.
int told(const Console& console) noexcept {
  try {
    throw;
  } catch (const Error& error) {
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

bool is_over = false;  // has main come to its end?

/// A library that ends the program (libgomp, where it gets no memory or thread) has said why on stderr.
void on_exit_of_a_library(int, void*) {
  if (is_over) return;
  io::remove_temporaries();
  std::_Exit(static_cast<int>(ExitCode::no_memory));
}

/// Memory that runs out in a thread, or where nothing may be thrown.
[[noreturn]] void on_terminate() {
  io::remove_temporaries();
  if (std::current_exception()) std::_Exit(told({}));
  std::abort();
}

/// Takes the numbers of standard descriptors that the caller has closed, so that no file of ours gets one and then what
/// is meant for the terminal. Reading and writing there fail as before.
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
