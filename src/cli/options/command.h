// A command: a name, options, and a function that runs it.
#pragma once

#include <functional>
#include <memory>

#include "options/options.h"

namespace attn::cli {

/// Runs a command whose options were parsed; returns its exit code.
using Run = std::function<int()>;

struct Command {
  const char* name;
  const char* description;
  Run (*add)(Options& options);  ///< declares the options and returns the function that runs the command
};

/// Makes the command of a class with `void declare(Options&)`, which adds the options, and `int run()`.
template <typename Class>
Command command_of(const char* name, const char* description) {
  return {name, description, [](Options& options) -> Run {
            auto command = std::make_shared<Class>();
            command->declare(options);
            return [command] { return command->run(); };
          }};
}

}  // namespace attn::cli
