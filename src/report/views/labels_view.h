// The probabilities of texts for images, as text.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/report/values.h"

namespace attn::report {

/// Returns a table for each image, with the most probable texts first.
[[nodiscard]] std::string labels_text(const LabelsReport& labels);

/// Returns an object with the members activation, texts and images, in the order of the input.
[[nodiscard]] Json labels_json(const LabelsReport& labels);

}  // namespace attn::report
