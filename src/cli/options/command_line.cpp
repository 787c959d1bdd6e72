#include "options/command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "attn/base/error.h"
#include "options/environment.h"
#include "options/old_names.h"
#include "options/option_tree.h"
#include "options/plain_numbers.h"
#include "options/usage.h"

namespace attn::cli {
namespace {

/// Returns the command that the words name; null if they name none. Throws Error (usage): CLI11 does not report which
/// word is unknown.
CLI::App* chosen_command(const CLI::App& program, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.rfind('-', 0) != 0) return program.get_subcommand(command_named(program, word).get_name());
    if (program.get_option_no_throw(word) == nullptr) return nullptr;  // the next word may be the option's value
  }
  return nullptr;
}

}  // namespace

CommandLine::CommandLine(std::span<const Command> commands, const std::string& version)
    : app_(std::make_unique<CLI::App>(
          "attn opens Keras attention models without Python: it shows, runs, trains and measures them.", "attn")) {
  app_->set_help_flag("-h,--help", "show this help");
  app_->set_version_flag("-V,--version", version);
  app_->require_subcommand(1);
  for (const Command& command : commands) {
    CLI::App* sub = app_->add_subcommand(command.name, command.description);
    sub->get_help_ptr()->group(std::string(option_groups().back()));
    Options options(*sub);
    Run run = command.add(options);
    commands_.push_back({sub, std::move(run), options.outputs(), options.inputs()});
    take_plain_numbers(*sub);
  }
}

CommandLine::~CommandLine() = default;

Program CommandLine::program() const { return Program(*app_); }

CommandSpec CommandLine::named() const { return spec_of(chosen_ == nullptr ? *app_ : *chosen_); }

CommandLine::Action CommandLine::parse(const std::vector<std::string>& words) {
  chosen_ = nullptr;
  words_ = words;
  try {
    chosen_ = chosen_command(*app_, words);
    if (chosen_ != nullptr) read_variables(*app_, *chosen_);
    if (chosen_ != nullptr) words_ = with_present_names(spec_of(*chosen_), words);
    app_->parse(std::vector<std::string>(words_.rbegin(), words_.rend()));
  } catch (const CLI::CallForHelp&) {
    return Action::help;
  } catch (const CLI::CallForVersion&) {
    return Action::version;
  } catch (const CLI::ParseError& error) {
    throw usage_error(*app_, chosen_, error, words_);
  } catch (const Error& error) {  // a value that an option rejects
    if (chosen_ == nullptr) throw;
    throw with_way_out(error, *chosen_, words_);
  }
  return Action::command;
}

const CommandLine::Parsed& CommandLine::chosen() const {
  for (const Parsed& command : commands_)
    if (command.app == chosen_) return command;
  throw internal_error("no command was parsed");
}

std::vector<OutputPath> CommandLine::outputs() const { return chosen().outputs(); }

std::vector<std::string> CommandLine::inputs() const { return chosen().inputs(); }

int CommandLine::run() const {
  const Parsed& command = chosen();
  try {
    return command.run();
  } catch (const Error& error) {
    throw with_way_out(error, *command.app, words_);
  }
}

}  // namespace attn::cli
