// attn: parse the command line, run one command, turn what it throws into one line and an exit code.
#include <array>
#include <csignal>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "command.h"
#include "console.h"

namespace attn::cli {
namespace {

constexpr std::array kCommands = {
    Command{"summary", "show the model as Keras does, layer by layer", add_summary},
    Command{"explain", "where a layer's parameters and FLOPs come from, line by line", add_explain},
    Command{"validate", "list all that is wrong with a model, and what may surprise", add_validate},
    Command{"run", "a forward pass on random or file inputs", add_run},
    Command{"compare", "hold two runs, or two models, against each other", add_compare},
    Command{"bench", "measure latency and throughput", add_bench},
    Command{"get-config", "the config as Keras prints or saves it", add_get_config},
    Command{"weights", "list the arrays of a file, check or compare them", add_weights},
    Command{"convert", "weights from one form of file to another", add_convert},
    Command{"init", "write a model's initial weights", add_init},
    Command{"devices", "what this machine can run a model on, and what is missing", add_devices},
};

/// CLI11 does not name a command that it does not know.
void check_command(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.rfind('-', 0) == 0) continue;
    std::vector<std::string_view> names;
    for (const Command& command : kCommands) {
      if (word == command.name) return;
      names.emplace_back(command.name);
    }
    throw bad_usage("unknown command '{}'{}; see attn --help", printable(word), did_you_mean(word, names));
  }
}

int run(const std::vector<std::string>& words) {
  CLI::App app("attn opens a Keras attention model without Python: summary, run, bench, get-config.", "attn");
  app.set_version_flag("--version", "attn " ATTN_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 the numbers differ, 2 usage, 3 a file is wrong, 4 out of memory, 5 no device.");
  std::vector<std::pair<CLI::App*, Run>> commands;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.description);
    commands.emplace_back(sub, command.add(*sub));
  }
  if (words.empty()) {
    write_result(app.help(), std::nullopt);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    check_command(words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    write_result(chosen.empty() ? app.help() : chosen.front()->help(), std::nullopt);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    write_result(std::string(version.what()) + "\n", std::nullopt);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw bad_usage("{}", printable(error.what()));
  }
  for (const auto& [sub, command] : commands)
    if (sub->parsed()) return command();
  return static_cast<int>(ExitCode::usage);
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
