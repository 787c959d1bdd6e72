// The formulas of a layer or a model, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/keras/explanation.h"
#include "attn/report/format.h"

namespace attn::report {

/// The model, and the sizes for which the formulas were computed.
struct ExplainedModel {
  std::string name, class_name;
  std::int64_t batch = 1;
  std::optional<std::int64_t> seq_len;
};

/// table, json ("attn.explain/1"), markdown; latex: paragraphs and align* environments (amsmath), without a preamble
[[nodiscard]] std::string render(Format format, const ExplainedModel& model, const keras::Explanation& explanation);
/// table, json, markdown or latex, with a row for each class of layers
[[nodiscard]] std::string render(Format format, const ExplainedModel& model,
                                 const std::vector<keras::ClassTotals>& classes);

}  // namespace attn::report
