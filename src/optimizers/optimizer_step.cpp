// A step of all variables.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>

#include "attn/base/error.h"
#include "attn/base/finite.h"
#include "attn/base/parallel.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/optimizers/optimizer.h"
#include "constraint.h"
#include "number.h"
#include "pass.h"
#include "rules.h"
#include "slots.h"
#include "sums.h"

namespace attn::optimizers {
namespace {

bool has(const Gradient& gradient) { return gradient.sum.bytes() > 0 || gradient.sum.shape().rank() == 0; }

/// Returns the elements from `begin` on as T; null if the tensor is empty.
template <typename T>
T* from(const Tensor& tensor, std::int64_t begin = 0) {
  return tensor.bytes() > 0 ? tensor.as<T>().data() + begin : nullptr;
}

}  // namespace

/// The values of a step that are common to all variables: the learning rate, the step's number from 1 on, and Nadam's
/// product of momenta.
struct StepValues {
  double rate = 0, t = 1, product = 1;
};

void Optimizer::check(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const {
  if (weights.size() != variables_.size() || gradients.size() != variables_.size())
    throw internal_error("{} weights and {} gradients for {} variables", weights.size(), gradients.size(),
                         variables_.size());
  for (std::size_t n = 0; n < variables_.size(); ++n) {
    const Variable& variable = variables_[n];
    const auto fits = [&](const Tensor& tensor) {
      return tensor.dtype() == variable.dtype && tensor.shape() == variable.shape;
    };
    const auto fits_if_there = [&](const Tensor& tensor) { return tensor.bytes() == 0 || fits(tensor); };
    if (!fits(weights[n])) throw internal_error("the weight '{}' is another variable", printable(variable.path));
    if (has(gradients[n]) &&
        !(fits(gradients[n].sum) && fits_if_there(gradients[n].squares) && fits_if_there(gradients[n].sizes)))
      throw internal_error("the gradient of '{}' is not of its dtype and shape", printable(variable.path));
  }
}

void Optimizer::begin(const std::vector<Tensor>& weights) {
  check(weights, std::vector<Gradient>(weights.size()));
  if (!std::holds_alternative<ScheduleFreeAdamW>(settings_.rule)) return;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    const std::int64_t each = bytes_of(variables_[n].dtype);
    std::copy_n(weights[n].data() + moved(n).begin * each, moved(n).size() * each, slots_[n][0].data());
  }
}

/// Returns by variable Σ of the squares of the gradient, or of its entries.
std::vector<double> Optimizer::squares_of(const std::vector<Gradient>& gradients) const {
  std::vector<double> parts(parts_.size(), 0.0), sums(gradients.size(), 0.0);
  for_each_part(static_cast<std::int64_t>(parts_.size()), threads_, [&](std::int64_t i) {
    const Part& part = parts_[static_cast<std::size_t>(i)];
    const Gradient& gradient = gradients[part.variable];
    if (!has(gradient)) return;
    const std::int64_t count = part.end - part.begin;
    with_number(variables_[part.variable].dtype, [&](auto number) {
      using T = decltype(number);
      parts[static_cast<std::size_t>(i)] = gradient.squares.bytes() > 0
                                               ? sum_of(from<const T>(gradient.squares, part.begin), count)
                                               : sum_of_squares(from<const T>(gradient.sum, part.begin), count);
    });
  });
  for (std::size_t i = 0; i < parts_.size(); ++i) sums[parts_[i].variable] += parts[i];
  return sums;
}

/// Adds the gradients, times `factor`, to the accumulated sums, which then replace the gradients. In a step that
/// updates the weights, the gradient is the mean over the accumulated batches. With Muon, whose step can still be
/// stopped, the mean is an array of its own.
void Optimizer::accumulate(std::vector<Gradient>& gradients, double factor, bool moves) const {
  std::vector<Tensor> sums = accumulators_;
  if (moves && std::holds_alternative<Muon>(settings_.rule))
    for (std::size_t n = 0; n < sums.size(); ++n)
      if (has(gradients[n])) sums[n] = Tensor(sums[n].dtype(), sums[n].shape());
  for_each_part(static_cast<std::int64_t>(parts_.size()), threads_, [&](std::int64_t i) {
    const Part& part = parts_[static_cast<std::size_t>(i)];
    if (!has(gradients[part.variable])) return;
    with_number(variables_[part.variable].dtype, [&](auto number) {
      using T = decltype(number);
      const T* const g = from<const T>(gradients[part.variable].sum);
      const T* const before = from<const T>(accumulators_[part.variable]);
      T* const sum = from<T>(sums[part.variable]);
      const T times = T(factor), count = T(static_cast<double>(*settings_.gradient_accumulation_steps));
      for (std::int64_t j = part.begin; j < part.end; ++j) {
        const T all = g[j] * times + before[j];
        sum[j] = moves ? all / count : all;
      }
    });
  });
  for (std::size_t n = 0; n < gradients.size(); ++n)
    if (has(gradients[n])) gradients[n] = {sums[n], Tensor(), Tensor()};  // a sum over batches is dense
}

std::optional<double> Optimizer::decay_of(const Variable& variable) const {
  const auto* muon = std::get_if<Muon>(&settings_.rule);
  return muon != nullptr && uses_adam(*muon, variable) ? muon->adam_weight_decay : settings_.weight_decay;
}

StepValues Optimizer::begin_step() {
  StepValues common;
  common.rate = learning_rate();
  common.t = static_cast<double>(updates() + 1);
  if (const auto* nadam = std::get_if<Nadam>(&settings_.rule)) {
    with_number(product_.dtype(), [&](auto number) {
      using S = Scalar<decltype(number)>;
      const S decay = power(S(static_cast<double>(decltype(number)(0.96))), S(common.t));
      const S after = S(product_.at(0)) * S(nadam->beta_1) * (S(1.0) - S(0.5) * decay);
      product_.set(0, static_cast<double>(after));
    });
    common.product = product_.at(0);
  }
  return common;
}

Pass Optimizer::pass() const {
  Pass pass;
  pass.rule = &settings_.rule;
  if (settings_.clipvalue && !settings_.clipnorm && !settings_.global_clipnorm) pass.limit = *settings_.clipvalue;
  pass.momentum = updates() == 0 ? 0.0 : settings_.ema_momentum;
  pass.overwrites = settings_.ema_overwrite_frequency && (updates() + 1) % *settings_.ema_overwrite_frequency == 0;
  return pass;
}

/// Returns the step of this rank's shard. The shard is a contiguous range of the variable; slots begin with it.
template <typename T>
Visit<T> Optimizer::visit_of(std::size_t n, const StepValues& values, const Tensor& weight, const Gradient& gradient,
                             double factor) const {
  const std::int64_t before = moved(n).begin;
  Visit<T> visit;
  visit.factor = T(factor);
  if (const auto share = decay_of(variables_[n]); share && *share != 0.0) visit.decay = Decay{*share, learning_rate()};
  if (settings_.use_ema) visit.average = from<T>(averages_[n]);
  if (settings_.gradient_accumulation_steps) visit.accumulator = from<T>(accumulators_[n], before);
  Step<T>& step = visit.step;
  step.shape = &variables_[n].shape;
  step.size = weight.size();
  step.rate = values.rate;
  step.t = values.t;
  step.product = values.product;
  step.v = from<T>(weight, before);
  step.g = from<const T>(gradient.sum, before);
  step.q = from<const T>(gradient.squares, before);
  step.a = from<const T>(gradient.sizes, before);
  step.a_factor = visit.factor;
  for (std::size_t s = 0; s < slots_[n].size(); ++s)
    if (slots_[n][s].dtype() == variables_[n].dtype) step.s[s] = from<T>(slots_[n][s]);
  const auto* const muon = std::get_if<Muon>(&settings_.rule);
  step.adam = muon != nullptr && uses_adam(*muon, variables_[n]);
  return visit;
}

std::vector<Tensor> Optimizer::directions_of(const Pass& how, const std::vector<Tensor>& weights,
                                             const std::vector<Gradient>& gradients,
                                             const std::vector<double>& factors) const {
  if (!std::holds_alternative<Muon>(settings_.rule)) return {};
  const ComputeGuard computing;
  std::vector<Tensor> out(weights.size());
  for_each_part(static_cast<std::int64_t>(own_parts_.size()), threads_, [&](std::int64_t i) {
    const std::size_t n = own_parts_[static_cast<std::size_t>(i)].variable;
    if (!has(gradients[n]) || uses_adam(std::get<Muon>(settings_.rule), variables_[n])) return;
    out[n] = Tensor(variables_[n].dtype, variables_[n].shape);
    with_number(variables_[n].dtype, [&](auto number) {
      using T = decltype(number);
      find_direction(how, visit_of<T>(n, StepValues(), weights[n], gradients[n], factors[n]), from<T>(out[n]));
    });
  });
  return out;
}

void Optimizer::move(const std::vector<Tensor>& weights, std::vector<Gradient>& gradients, double factor,
                     StepReport& report) {
  std::vector<double> squares = squares_of(gradients);
  double all = 0.0;
  for (double& square : squares) all += square *= factor * factor;
  report.gradient_norm = std::sqrt(all);
  report.not_finite = !std::isfinite(report.gradient_norm);
  if (report.not_finite) return;
  std::vector<double> factors(weights.size(), factor);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (!has(gradients[n])) continue;
    if (settings_.clipnorm) {
      factors[n] *= *settings_.clipnorm / std::max(std::sqrt(squares[n]), *settings_.clipnorm);
    } else if (settings_.global_clipnorm) {
      const double limit = *settings_.global_clipnorm, size = report.gradient_norm;
      factors[n] *= limit * std::min(1.0 / size, 1.0 / limit) + (size - size);
      gradients[n].squares = gradients[n].sizes = Tensor();  // the accumulated sum is dense
    }
    report.clipped = report.clipped || factors[n] != factor;
  }
  const Pass how = pass();
  const std::vector<Tensor> directions = directions_of(how, weights, gradients, factors);
  const StepValues values = begin_step();
  std::atomic<bool> clipped = report.clipped;
  for_each_part(static_cast<std::int64_t>(own_parts_.size()), threads_, [&](std::int64_t i) {
    const Part& part = own_parts_[static_cast<std::size_t>(i)];
    const std::size_t n = part.variable;
    const std::int64_t before = moved(n).begin;
    if (!has(gradients[n])) return;
    with_number(variables_[n].dtype, [&](auto number) {
      using T = decltype(number);
      Visit<T> visit = visit_of<T>(n, values, weights[n], gradients[n], factors[n]);
      if (!directions.empty()) visit.step.direction = from<const T>(directions[n]);
      if (run(how, visit, part.begin - before, part.end - before)) clipped = true;
    });
  });
  report.clipped = clipped;
  if (sharing_.ranks > 1 && settings_.gradient_accumulation_steps)  // including the shards of other ranks
    for (std::size_t n = 0; n < weights.size(); ++n)
      if (has(gradients[n])) std::fill_n(accumulators_[n].data(), accumulators_[n].bytes(), std::byte{0});
}

void Optimizer::follow_averages(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const {
  const Pass how = pass();
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (!has(gradients[n])) continue;
    with_number(variables_[n].dtype, [&](auto number) {
      using T = decltype(number);
      follow(how, from<T>(weights[n], moved(n).begin), from<T>(averages_[n]), moved(n).size());
    });
  }
}

StepReport Optimizer::apply(const std::vector<Tensor>& weights, const std::vector<Gradient>& given,
                            const std::function<void()>& exchange) {
  check(weights, given);
  std::vector<Gradient> gradients = given;
  StepReport report;
  double factor = 1.0 / loss_scale();
  if (settings_.loss_scale) {
    report.skipped = std::ranges::any_of(
        gradients, [](const Gradient& gradient) { return has(gradient) && !all_finite(gradient.sum); });
    if (report.skipped) {
      move_scale(false);
      return report;
    }
  }
  const std::int64_t accumulated = settings_.gradient_accumulation_steps.value_or(1);
  const bool moves = (iteration() + 1) % accumulated == 0;
  if (settings_.gradient_accumulation_steps) {
    accumulate(gradients, factor, moves);
    factor = 1.0;
  }
  if (moves) {
    move(weights, gradients, factor, report);
    if (report.not_finite) return report;
  } else if (settings_.use_ema) {
    follow_averages(weights, gradients);
  }
  if (settings_.loss_scale) move_scale(true);
  if (exchange) exchange();
  for (std::size_t n = 0; n < weights.size(); ++n)
    if (variables_[n].constraint && has(gradients[n])) constrain(*variables_[n].constraint, weights[n]);
  ++state_[first_].tensor.as<std::int64_t>()[0];
  return report;
}

void Optimizer::finalize(const std::vector<Tensor>& weights) const {
  check(weights, std::vector<Gradient>(weights.size()));
  for (std::size_t n = 0; n < averages_.size(); ++n) {
    const std::int64_t each = bytes_of(variables_[n].dtype);
    std::copy_n(averages_[n].data(), moved(n).size() * each, weights[n].data() + moved(n).begin * each);
  }
}

}  // namespace attn::optimizers
