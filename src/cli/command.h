// What every command is: options on a CLI11 app, and a function that runs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "console.h"

namespace attn::cli {

/// Options that every command takes.
struct Common {
  std::string format = "table";
  std::optional<std::string> output;  ///< -o
  Console console;
};

/// Adds them; `formats` are what --format may be, the first is the default. Commands whose -o is no text file add it
/// themselves.
void add_common(CLI::App& app, Common& common, const std::vector<std::string>& formats, bool with_output = true);

/// --color alone, for commands whose result has one form.
void add_color(CLI::App& app);

/// Runs a command whose options were parsed; gives its exit code.
using Run = std::function<int()>;

/// Each adds its options to `app` and gives what runs it.
Run add_summary(CLI::App& app);
Run add_run(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_get_config(CLI::App& app);
Run add_weights(CLI::App& app);
Run add_convert(CLI::App& app);
Run add_init(CLI::App& app);
Run add_devices(CLI::App& app);
Run add_explain(CLI::App& app);
Run add_validate(CLI::App& app);
Run add_compare(CLI::App& app);
Run add_plan(CLI::App& app);
Run add_plot(CLI::App& app);
Run add_heatmap(CLI::App& app);
Run add_report(CLI::App& app);
Run add_tokenize(CLI::App& app);
Run add_doctor(CLI::App& app);
Run add_help(CLI::App& app);
Run add_completion(CLI::App& app);
Run add_man(CLI::App& app);

struct Command {
  const char* name;
  const char* description;
  Run (*add)(CLI::App& app);
};

}  // namespace attn::cli
