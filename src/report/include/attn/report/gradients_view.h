// The gradients of a model: the report, and how it is written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/report/format.h"
#include "attn/report/values.h"
#include "attn/run/gradients.h"

namespace attn::report {

struct GradientsReport {
  Setting setting;
  std::string loss;  ///< name of the loss
  double value = 0;
  /// The terms of the loss, if there is more than one.
  std::vector<std::pair<std::string, double>> terms;
  std::string mode;  ///< mode of the layers: "training, nothing dropped", …
  std::uint64_t seed = 0;
  std::vector<InputReport> inputs;
  std::vector<run::GradientRow> rows;  ///< the rows in the order of depth
  std::string by;                      ///< kind of the rows: "layer", "weight", "block"
  std::vector<std::size_t> order;      ///< display order of the rows
  double norm = 0;                     ///< norm of all gradients except those of inputs
  double seconds = 0;                  ///< time of the forward and backward pass
  std::optional<CompareReport> compare;
  std::optional<std::vector<run::GradientCheckRow>> check;
  double check_tolerance = 0;

  [[nodiscard]] bool finite() const;
  [[nodiscard]] bool checked() const;  ///< Returns whether all checks have passed; also true if nothing was checked.
};

/// table: a row for each layer, then the loss and the result of the check. json: "attn.grad/1". svg: a bar for each
/// row, the root mean square of its gradient on a logarithmic scale.
[[nodiscard]] std::string render(Format format, const GradientsReport& report);

}  // namespace attn::report
