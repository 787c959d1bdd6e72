// What this machine can run a model on.
#pragma once

#include "attn/report/devices_view.h"

namespace attn::cli {

/// The CPU first, then every GPU. Opens each GPU's backend to see whether it works; never throws for one that does not.
[[nodiscard]] report::DevicesReport find_devices();

}  // namespace attn::cli
