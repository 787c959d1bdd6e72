// Statistics of a model's gradients, and a check of their correctness.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/run/advance.h"

namespace attn::run {

/// A finding about a gradient.
enum class GradientMark : std::uint8_t {
  none,
  no_path,       ///< the loss does not depend on the array
  not_finite,    ///< an element is NaN or infinite
  zero,          ///< the gradient is 0 everywhere, so nothing is learned
  undetermined,  ///< all elements are below the rounding of the largest gradient, so the true gradient may be 0
  vanishing,     ///< the root mean square is below 1e-3 of the largest row's
  exploding      ///< the root mean square is above 1e3 times that of the last row
};

/// Returns the name of a mark: "vanishing", …; "" for `none`.
[[nodiscard]] std::string_view name_of(GradientMark mark);

/// The gradient of one array, or of a group of arrays.
struct GradientRow {
  std::string name;   ///< name of the array: "dense/kernel", "input:x"
  Shape shape;        ///< shape, for a single array
  int arrays = 1;     ///< number of arrays in the group
  int connected = 0;  ///< number of arrays in the group that the loss depends on
  std::int64_t elements = 0, zeros = 0, non_finite = 0;
  double norm = 0, largest = 0;  ///< √Σg², max |g|, over finite elements
  double value_norm = 0;         ///< √Σx² of the array
  /// √Σ(Δx)² of the next optimizer step, if there is an optimizer.
  std::optional<double> update_norm{};
  GradientMark mark = GradientMark::none;

  [[nodiscard]] double rms() const;
};

/// `gradient` is null if the loss does not depend on the array.
[[nodiscard]] GradientRow describe_gradient(const std::string& name, const Tensor* gradient, const Tensor& value);

/// Merges rows with equal keys; the merged row takes the place of the first.
[[nodiscard]] std::vector<GradientRow> grouped(const std::vector<GradientRow>& rows,
                                               const std::function<std::string(const std::string&)>& key);

/// Sets the marks. `rounding` is the relative rounding error of the dtype of the computation.
void mark_gradients(std::vector<GradientRow>& rows, double rounding);

/// Slopes of the loss along random directions in one array.
struct GradientCheckRow {
  std::string name;
  int directions = 0;
  int skipped = 0;                    ///< directions whose one-sided slopes differ: a kink
  double worst = 0;                   ///< the largest |measured − computed| / max(|measured|, |computed|)
  double measured = 0, computed = 0;  ///< slopes along the direction with the worst relative difference
  bool pass = true;
};

struct GradientCheckOptions {
  int directions = 3;
  double step = 1e-6;
  bool only_step = false;  ///< use only the given step length, not longer ones
  double tolerance = 1e-6;
  std::uint64_t seed = 0;
};

/// Checks gradients in float64 against central differences. `graph` computes the loss; `checked` are inputs or weights.
/// Everything runs in float64 on the reference backend, with two passes for each direction. A direction has standard
/// normal elements, times the step, times max(1, |x|). A slope passes if it is within the tolerance, or within the
/// effect of rounding on the loss, with this step or a longer one. (A short step measures only rounding if the slope is
/// small relative to the loss.) `advance` counts passes.
[[nodiscard]] std::vector<GradientCheckRow> check_gradients(const graph::Graph& graph, graph::ValueId loss,
                                                            std::span<const graph::ValueId> checked,
                                                            std::span<const Tensor> inputs,
                                                            std::span<const Tensor> weights,
                                                            const GradientCheckOptions& options,
                                                            const Advance& advance = {});

}  // namespace attn::run
