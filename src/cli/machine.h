// What this machine is called, for reports.
#pragma once

#include <string>

namespace attn::cli {

/// "Intel(R) Xeon(R) Processor, 2 cores".
[[nodiscard]] std::string machine_name();

}  // namespace attn::cli
