// The options of how a model is read and run.
#pragma once

#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "options/options.h"

namespace attn::cli {

/// --backend, --weights, --seed and the like, for one value each.
void add_execution(Options& options, open::Execution& execution);

/// add_execution, and --device, --dtype, --batch, --seq-len, --threads and --input.
void add_forward(Options& options, open::Execution& execution, std::vector<std::string>& inputs);

}  // namespace attn::cli
