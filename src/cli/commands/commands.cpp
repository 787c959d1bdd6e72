#include "commands/commands.h"

#include <array>

// A row for each command. The file of the command defines `Command <row>_command()`.
#define ATTN_COMMANDS(row)                                                                                             \
  row(summary) row(explain) row(validate) row(run) row(grad) row(train) row(evaluate) row(compare) row(plan) row(plot) \
      row(heatmap) row(probe) row(report) row(generate) row(score) row(tokenize) row(embed) row(transcribe) row(bench) \
          row(get_config) row(weights) row(convert) row(flatten_script) row(init) row(demo) row(devices) row(doctor)   \
              row(completion) row(man) row(help)

namespace attn::cli {

#define DECLARED(name) Command name##_command();
ATTN_COMMANDS(DECLARED)
#undef DECLARED

std::span<const Command> commands() {
#define LISTED(name) name##_command(),
  static const std::array all = {ATTN_COMMANDS(LISTED)};
#undef LISTED
  return all;
}

}  // namespace attn::cli
