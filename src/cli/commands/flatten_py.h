// The files of src/cli/commands/scripts/flatten, concatenated and compiled in.
#pragma once

namespace attn::cli {

extern const char* const kFlattenPy;

}  // namespace attn::cli
