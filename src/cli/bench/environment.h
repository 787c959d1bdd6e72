// Where and with what a measurement is made.
#pragma once

#include "attn/report/values.h"

namespace attn::cli {

/// `device` is what was measured: "cpu", "cuda:0".
[[nodiscard]] report::Environment bench_environment(const std::string& device);

}  // namespace attn::cli
