// What the gradients of a model are like, and whether they are right.
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

/// What is noticed about a gradient.
enum class GradientMark : std::uint8_t {
  none,
  no_path,       ///< the loss does not depend on the array
  not_finite,    ///< a number in it is NaN or infinite
  zero,          ///< it is 0 everywhere: nothing is learned
  undetermined,  ///< no number in it is above the rounding of the largest gradient: it may be 0
  vanishing,     ///< its root mean square is below 1e-3 of the largest
  exploding      ///< its root mean square is above 1e3 times that of the last
};

/// "vanishing"; "" for none.
[[nodiscard]] std::string_view name_of(GradientMark mark);

/// The gradient of one array, or of several together.
struct GradientRow {
  std::string name;   ///< "dense/kernel", "input:x"
  Shape shape;        ///< of one array
  int arrays = 1;     ///< how many it is of
  int connected = 0;  ///< how many of them the loss depends on
  std::int64_t elements = 0, zeros = 0, non_finite = 0;
  double norm = 0, largest = 0;  ///< √Σg², max |g|; over the finite ones
  double value_norm = 0;         ///< √Σx² of the array itself
  /// √Σ(Δx)² of the next step of an optimizer, where there is one.
  std::optional<double> update_norm{};
  GradientMark mark = GradientMark::none;

  [[nodiscard]] double rms() const;
};

/// `gradient` is null where the loss does not depend on the array.
[[nodiscard]] GradientRow describe_gradient(const std::string& name, const Tensor* gradient, const Tensor& value);

/// Rows of one key as one, at the place of the first.
[[nodiscard]] std::vector<GradientRow> grouped(const std::vector<GradientRow>& rows,
                                               const std::function<std::string(const std::string&)>& key);

/// Sets the marks. `rounding` is the relative rounding of the dtype that they were computed in.
void mark_gradients(std::vector<GradientRow>& rows, double rounding);

/// The loss's slopes along random directions in one array.
struct GradientCheckRow {
  std::string name;
  int directions = 0;
  int skipped = 0;                    ///< where the slopes on the two sides differ: a kink
  double worst = 0;                   ///< the largest |measured − computed| / max(|measured|, |computed|)
  double measured = 0, computed = 0;  ///< there
  bool pass = true;
};

struct GradientCheckOptions {
  int directions = 3;
  double step = 1e-6;
  bool only_step = false;  ///< not longer ones too
  double tolerance = 1e-6;
  std::uint64_t seed = 0;
};

/// Holds gradients in float64 against central differences. `graph` computes the loss, and its `checked` values are
/// inputs or weights. Everything runs in float64 on the reference backend, two passes for each direction; the numbers
/// of a direction are standard normal, times the step times max(1, |x|). A slope is right where it is within the
/// tolerance, or within what rounding does to the loss, with this step or a longer one: where the slope is small beside
/// the loss, a short step shows only rounding. `advance` is told the passes.
[[nodiscard]] std::vector<GradientCheckRow> check_gradients(const graph::Graph& graph, graph::ValueId loss,
                                                            std::span<const graph::ValueId> checked,
                                                            std::span<const Tensor> inputs,
                                                            std::span<const Tensor> weights,
                                                            const GradientCheckOptions& options,
                                                            const Advance& advance = {});

}  // namespace attn::run
