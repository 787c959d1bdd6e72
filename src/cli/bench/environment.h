// The machine and software of a measurement.
#pragma once

#include "attn/report/values.h"

namespace attn::cli {

/// `device` is the measured device: "cpu", "cuda:0".
[[nodiscard]] report::Environment bench_environment(const std::string& device);

}  // namespace attn::cli
