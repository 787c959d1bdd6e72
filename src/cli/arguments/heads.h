// Options that choose attention heads.
#pragma once

#include "attn/library/attention.h"
#include "options/options.h"

namespace attn::cli {

/// Adds --layer, --head, --item, --labels and --log.
void add_heads(Options& options, library::Heads& heads);

}  // namespace attn::cli
