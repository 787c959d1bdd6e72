// Where two models differ, as text.
#pragma once

#include <string>

#include "attn/keras/compare_models.h"

namespace attn::report {

struct ModelsReport {
  std::string a, b;  ///< the files
  keras::ModelComparison result;
};

/// Tables of keys and of layers, and both models' parameters.
[[nodiscard]] std::string models_text(const ModelsReport& report);
[[nodiscard]] std::string models_markdown(const ModelsReport& report);
/// "attn.compare/1", with "kind": "config"
[[nodiscard]] std::string models_json(const ModelsReport& report);

}  // namespace attn::report
