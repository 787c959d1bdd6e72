// The arithmetic of a layer or a model as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/keras/explanation.h"

namespace attn::report {

/// What it was worked out for.
struct ExplainedModel {
  std::string name, class_name;
  std::int64_t batch = 1;
  std::optional<std::int64_t> seq_len;
};

[[nodiscard]] std::string explain_text(const ExplainedModel& model, const keras::Explanation& explanation);
[[nodiscard]] std::string explain_markdown(const ExplainedModel& model, const keras::Explanation& explanation);
/// Paragraphs and align* environments (amsmath), without a preamble.
[[nodiscard]] std::string explain_latex(const ExplainedModel& model, const keras::Explanation& explanation);
/// "attn.explain/1"
[[nodiscard]] std::string explain_json(const ExplainedModel& model, const keras::Explanation& explanation);

/// A row per class of layers.
[[nodiscard]] std::string overview_text(const ExplainedModel& model, const std::vector<keras::ClassTotals>& classes);
[[nodiscard]] std::string overview_markdown(const ExplainedModel& model,
                                            const std::vector<keras::ClassTotals>& classes);
[[nodiscard]] std::string overview_latex(const ExplainedModel& model, const std::vector<keras::ClassTotals>& classes);
[[nodiscard]] std::string overview_json(const ExplainedModel& model, const std::vector<keras::ClassTotals>& classes);

}  // namespace attn::report
