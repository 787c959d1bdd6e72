#include "command_line.h"

#include <array>
#include <utility>

#include "attn/backends/cpu.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "environment.h"
#include "option_tree.h"
#include "plain_numbers.h"
#include "usage.h"

namespace attn::cli {
namespace {

constexpr std::array kCommands = {
    Command{"summary", "show the model as Keras does, layer by layer", add_summary},
    Command{"explain", "where a layer's parameters and FLOPs come from, line by line", add_explain},
    Command{"validate", "list all that is wrong with a model, and what may surprise", add_validate},
    Command{"run", "a forward pass on random or file inputs", add_run},
    Command{"compare", "hold two runs, or two models, against each other", add_compare},
    Command{"plan", "how a pass runs: its steps, and where their results lie in memory", add_plan},
    Command{"plot", "the layers and their connections as a picture: SVG, DOT, Mermaid", add_plot},
    Command{"heatmap", "what each head attends to: figures, a preview, HTML, SVG, PNG", add_heatmap},
    Command{"report", "all about a model on one page: summary, costs, attention, graph", add_report},
    Command{"tokenize", "text to the ids that a model takes, and back", add_tokenize},
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

}  // namespace

CommandLine::CommandLine()
    : app_("attn opens a Keras attention model without Python: it shows the model, runs it, and measures it.", "attn") {
  app_.set_help_flag("-h,--help", "this page");
  app_.set_version_flag("--version", "attn " ATTN_VERSION);
  app_.require_subcommand(1);
  for (const Command& command : kCommands) {
    CLI::App* sub = app_.add_subcommand(command.name, command.description);
    commands_.emplace_back(sub, command.add(*sub));
    take_plain_numbers(*sub);
  }
}

CommandLine::Asked CommandLine::parse(const std::vector<std::string>& words) {
  chosen_ = nullptr;
  try {
    chosen_ = chosen_command(app_, words);
    if (chosen_ != nullptr) read_variables(app_, *chosen_);
    app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return Asked::help;
  } catch (const CLI::CallForVersion&) {
    return Asked::version;
  } catch (const CLI::ParseError& error) {
    throw usage_error(app_, chosen_, error, words);
  }
  return Asked::command;
}

int CommandLine::run(const std::vector<std::string>& words) const {
  (void)backends::kernel_isa();  // a wrong ATTN_ISA is told before anything is read
  for (const auto& [sub, command] : commands_) {
    if (sub != chosen_) continue;
    try {
      return command();
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage) throw;
      throw with_variable(error, *sub, words);
    }
  }
  throw internal_error("no command for '{}'", printable(words.front()));
}

}  // namespace attn::cli
