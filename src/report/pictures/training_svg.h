// The curves of a training. Private to the module.
#pragma once

#include <string>

#include "attn/report/training.h"

namespace attn::report {

[[nodiscard]] std::string training_svg(const TrainingReport& report);

}  // namespace attn::report
