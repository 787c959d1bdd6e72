// The gradients of a model, as values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/report/values.h"
#include "attn/run/gradients.h"

namespace attn::report {

struct GradientsReport {
  Setting setting;
  std::string loss;  ///< what it is called
  double value = 0;
  /// What the loss is the sum of, where that is more than one.
  std::vector<std::pair<std::string, double>> terms;
  std::string mode;  ///< "training, nothing dropped", …
  std::uint64_t seed = 0;
  std::vector<InputReport> inputs;
  std::vector<run::GradientRow> rows;  ///< by depth
  std::string by;                      ///< "layer", "weight", "block"
  std::vector<std::size_t> order;      ///< in which the rows are shown
  double norm = 0;                     ///< of all together, but those of inputs
  double seconds = 0;                  ///< of the pass there and back
  std::optional<CompareReport> compare;
  std::optional<std::vector<run::GradientCheckRow>> check;
  double check_tolerance = 0;

  [[nodiscard]] bool finite() const;
  [[nodiscard]] bool checked() const;  ///< also true where nothing was checked
};

}  // namespace attn::report
