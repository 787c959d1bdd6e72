// Models of Keras 2 whose masks Keras 3 treats differently.
#pragma once

#include <optional>
#include <string>

#include "frontends/read_model.h"

namespace attn::keras {

/// Returns a sentence about the first layer of a Keras 2 model that uses masks only in Keras 2 or only in Keras 3, so
/// that Keras 3 computes other results. Empty if there is no such layer, and for models of Keras 3.
[[nodiscard]] std::optional<std::string> keras3_mask_difference(const ReadModel& read);

}  // namespace attn::keras
