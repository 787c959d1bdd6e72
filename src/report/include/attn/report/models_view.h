// The differences between two models, as text.
#pragma once

#include <optional>
#include <string>

#include "attn/keras/compare_models.h"
#include "attn/report/format.h"
#include "attn/report/weights_view.h"

namespace attn::report {

struct ModelsReport {
  std::string a, b;  ///< names of the files
  keras::ModelComparison result;
  std::optional<DiffReport> weights;  ///< differences of the weights, if both files contain some
  std::string without;                ///< name of the file without weights, if the other has some

  [[nodiscard]] bool equal() const { return result.equal() && (!weights || weights->result.equal()); }
};

/// Tables of keys, of layers and of weights, and the parameters of both models, as table, markdown, or json:
/// "attn.compare/1", with "kind": "config"
[[nodiscard]] std::string render(Format format, const ModelsReport& report);

}  // namespace attn::report
