// Options for reading and running a model.
#pragma once

#include "attn/open/execution.h"
#include "attn/open/input_files.h"
#include "options/options.h"

namespace attn::cli {

/// Adds the options with one value each: --backend, --weights, --seed and similar ones.
void add_execution(Options& options, open::Execution& execution);

/// Adds the options of add_execution, and --device, --dtype, --batch-size, --seq-len, --threads, --input and
/// --image.
void add_forward(Options& options, open::Execution& execution, open::InputFiles& files);

}  // namespace attn::cli
