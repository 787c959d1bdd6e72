// The files of src/cli/commands/scripts/flatten, one behind the other, which are compiled in.
#pragma once

namespace attn::cli {

extern const char* const kFlattenPy;

}  // namespace attn::cli
