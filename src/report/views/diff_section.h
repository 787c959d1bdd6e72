// The differences between the weights of two files as JSON, for a document.
#pragma once

#include "attn/report/json.h"
#include "attn/report/weights_view.h"

namespace attn::report {

/// Returns {"a": …, "b": …, "equal": …, "arrays": […], …}.
[[nodiscard]] Json diff_section(const DiffReport& report);

}  // namespace attn::report
