// Checks gradients against central differences.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "attn/backends/reference.h"
#include "attn/base/rng.h"
#include "attn/gradients/gradients.h"
#include "attn/gradients/passes.h"
#include "attn/plan/plan.h"
#include "attn/run/gradients.h"

namespace attn::run {
namespace {

using graph::ValueId;

/// Copies a tensor.
Tensor copy_of(const Tensor& x) {
  Tensor out(x.dtype(), x.shape());
  std::copy_n(x.data(), x.bytes(), out.data());
  return out;
}

/// A graph on the reference backend, with all weights and states turned into inputs.
class Evaluation {
 public:
  Evaluation(graph::Graph graph, const std::vector<ValueId>& results) {
    graph.outputs.clear();
    graph.scores.clear();
    for (const ValueId id : results) {
      ids_.push_back(id);
      if (id != graph::kNone) graph.outputs.push_back({"", id});
    }
    const auto backend = backends::make_reference_backend();
    executable_ = backend->compile(plan::make_plan(backend->optimize(std::move(graph))), {}, {});
  }

  /// Returns copies of the results; a result that the graph lacks is empty.
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> inputs) {
    executable_->run(inputs);
    std::vector<Tensor> out;
    for (const ValueId id : ids_) out.push_back(id == graph::kNone ? Tensor() : copy_of(executable_->value(id)));
    return out;
  }

 private:
  std::vector<ValueId> ids_;
  std::unique_ptr<backends::Executable> executable_;
};

Tensor widened(const Tensor& x) { return is_floating(x.dtype()) ? x.cast(DType::float64) : x; }

class GradientChecker {
 public:
  GradientChecker(const graph::Graph& graph, ValueId loss, std::span<const ValueId> checked,
                  std::span<const Tensor> inputs, std::span<const Tensor> weights, const GradientCheckOptions& options)
      : graph_(gradients::release_weights(gradients::in_float64(graph))),
        loss_(graph_, {loss}),
        checked_(checked.begin(), checked.end()),
        options_(options) {
    for (const Tensor& input : inputs) numbers_.push_back(widened(input));
    // release_weights() has turned the weights into inputs, which follow the model's own.
    for (std::size_t i = inputs.size(); i < graph_.inputs.size(); ++i)
      numbers_.push_back(widened(weights[graph::at(graph.value(graph_.inputs[i]).weight)]));
    gradients::Differentiated backward = gradients::differentiate(graph_, loss, checked_);
    gradients_ = Evaluation(std::move(backward.graph), backward.gradients).run(numbers_);
    at_rest_ = loss_at(numbers_);
  }

  [[nodiscard]] GradientCheckRow check(std::size_t n, const Advance& advance) {
    GradientCheckRow row;
    row.name = graph_.value(checked_[n]).name;
    const auto place = std::find(graph_.inputs.begin(), graph_.inputs.end(), checked_[n]) - graph_.inputs.begin();
    RandomStream stream(options_.seed, "direction:" + row.name);
    for (int i = 0; i < options_.directions; ++i) {
      direction(row, static_cast<std::size_t>(place), gradients_[n], stream);
      if (advance) advance(2.0);
    }
    return row;
  }

 private:
  [[nodiscard]] double loss_at(std::span<const Tensor> numbers) { return loss_.run(numbers)[0].at(0); }

  /// A random direction in one array, and the slope of the loss along it by the gradient.
  struct Direction {
    std::size_t place = 0;
    std::vector<double> move;
    double computed = 0.0;
  };

  /// Returns the loss if `by` times the direction is added to the array.
  [[nodiscard]] double loss_along(const Direction& along, double by) {
    const Tensor& x = numbers_[along.place];
    std::vector<Tensor> moved = numbers_;
    moved[along.place] = copy_of(x);
    for (std::int64_t i = 0; i < x.size(); ++i)
      moved[along.place].set(i, x.at(i) + by * along.move[static_cast<std::size_t>(i)]);
    return loss_at(moved);
  }

  struct Slope {
    double measured = 0.0, computed = 0.0, rounding = 0.0;  ///< the possible effect of rounding on `measured`

    [[nodiscard]] double difference() const { return std::abs(measured - computed); }
    [[nodiscard]] double size() const { return std::max(std::abs(measured), std::abs(computed)); }
    [[nodiscard]] double error() const { return difference() <= rounding ? 0.0 : difference() / size(); }
    [[nodiscard]] bool is_right(double tolerance) const { return difference() <= tolerance * size() + rounding; }
  };

  /// Assumes that the last six bits of the loss are unreliable.
  [[nodiscard]] double rounding_at(double step) const {
    return 64.0 * std::numeric_limits<double>::epsilon() * std::abs(at_rest_) / step;
  }

  /// Measures with longer steps, where rounding matters less, and extrapolates to remove the error that grows with the
  /// square of the step. This is needed near the end of a training, where slopes are small.
  [[nodiscard]] std::optional<Slope> with_longer_steps(const Direction& along) {
    const auto central = [&](double step) {
      return (loss_along(along, step) - loss_along(along, -step)) / (2.0 * step);
    };
    constexpr double kLongest = 1e-2;
    for (double step = 10.0 * options_.step; step <= kLongest; step *= 10.0) {
      const Slope slope{(4.0 * central(step) - central(2.0 * step)) / 3.0, along.computed, rounding_at(step)};
      if (slope.is_right(options_.tolerance)) return slope;
    }
    return std::nullopt;
  }

  void direction(GradientCheckRow& row, std::size_t place, const Tensor& gradient, RandomStream& stream) {
    const Tensor& x = numbers_[place];
    Direction along{place, {}, 0.0};
    const bool connected = gradient.size() == x.size();  // false: the loss does not depend on x
    for (std::int64_t i = 0; i < x.size(); ++i) {
      along.move.push_back(stream.normal() * std::max(1.0, std::abs(x.at(i))));
      if (connected) along.computed += gradient.at(i) * along.move.back();
    }
    const double before = loss_along(along, -options_.step), after = loss_along(along, options_.step);
    Slope slope{(after - before) / (2.0 * options_.step), along.computed, rounding_at(options_.step)};
    ++row.directions;
    bool right = slope.is_right(options_.tolerance);
    if (!right && !options_.only_step) {
      if (const auto longer = with_longer_steps(along)) {
        slope = *longer;
        right = true;
      }
    }
    if (!right) {
      const double right_side = (after - at_rest_) / options_.step, left_side = (at_rest_ - before) / options_.step;
      constexpr double kKink = 1e-3;
      if (std::abs(right_side - left_side) > kKink * std::max(std::abs(right_side), std::abs(left_side))) {
        ++row.skipped;
        return;
      }
    }
    if (!right || slope.error() >= row.worst) {
      row.worst = std::max(row.worst, slope.error());
      row.measured = slope.measured;
      row.computed = slope.computed;
    }
    row.pass = row.pass && right;
  }

  graph::Graph graph_;
  Evaluation loss_;
  std::vector<ValueId> checked_;
  GradientCheckOptions options_;
  std::vector<Tensor> numbers_, gradients_;
  double at_rest_ = 0.0;
};

}  // namespace

std::vector<GradientCheckRow> check_gradients(const graph::Graph& graph, ValueId loss, std::span<const ValueId> checked,
                                              std::span<const Tensor> inputs, std::span<const Tensor> weights,
                                              const GradientCheckOptions& options, const Advance& advance) {
  GradientChecker checker(graph, loss, checked, inputs, weights, options);
  std::vector<GradientCheckRow> rows;
  for (std::size_t n = 0; n < checked.size(); ++n) rows.push_back(checker.check(n, advance));
  return rows;
}

}  // namespace attn::run
