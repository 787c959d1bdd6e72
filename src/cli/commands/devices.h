// The devices of this machine.
#pragma once

#include "attn/report/devices_view.h"

namespace attn::cli {

/// Returns the CPU first, then every GPU. Opens the backend of each GPU to check that it works; a failure is part of
/// the row, not an exception.
[[nodiscard]] report::DevicesReport find_devices();

}  // namespace attn::cli
