// Options for reading and running a model.
#pragma once

#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "options/options.h"

namespace attn::cli {

/// Adds the options with one value each: --backend, --weights, --seed and similar ones.
void add_execution(Options& options, open::Execution& execution);

/// Adds the options of add_execution, and --device, --dtype, --batch-size, --seq-len, --threads and --input.
void add_forward(Options& options, open::Execution& execution, std::vector<std::string>& inputs);

}  // namespace attn::cli
