#include "attn/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/parallel.h"
#include "attn/base/text.h"
#include "constraint.h"
#include "rules.h"

namespace attn::optimizers {
namespace {

/// Elements that one thread takes at a time: by number, so that results do not depend on threads.
constexpr std::int64_t kPart = std::int64_t{1} << 16;
/// Fewer elements in all are not worth waking threads for.
constexpr std::int64_t kLeastForThreads = std::int64_t{1} << 18;

/// A piece of an array.
struct Part {
  std::size_t variable;
  std::int64_t begin, end;
};

std::vector<Part> parts_of(const std::vector<Variable>& variables, bool whole) {
  std::vector<Part> parts;
  for (std::size_t n = 0; n < variables.size(); ++n) {
    const std::int64_t size = variables[n].shape.size(), step = whole ? std::max<std::int64_t>(1, size) : kPart;
    for (std::int64_t begin = 0; begin < size; begin += step) parts.push_back({n, begin, std::min(begin + step, size)});
  }
  return parts;
}

void fill(const Tensor& tensor, double value) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value);
}

/// What a step is given may be shared, and is not changed.
Tensor scaled(const Tensor& tensor, double factor) {
  Tensor out(DType::float32, tensor.shape());
  const std::span<const float> from = tensor.as<const float>();
  const std::span<float> to = out.as<float>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * static_cast<float>(factor);
  return out;
}

void scale(Gradient& gradient, double factor) {
  gradient.sum = scaled(gradient.sum, factor);
  if (gradient.squares.bytes() > 0) gradient.squares = scaled(gradient.squares, factor * factor);
}

void copy(const Tensor& from, const Tensor& to) { std::copy_n(from.data(), from.bytes(), to.data()); }

bool has(const Gradient& gradient) { return gradient.sum.bytes() > 0 || gradient.sum.shape().rank() == 0; }

}  // namespace

Optimizer::Optimizer(Settings settings, std::vector<Variable> variables, int threads)
    : settings_(std::move(settings)), variables_(std::move(variables)), threads_(threads) {
  std::int64_t elements = 0;
  for (const Variable& variable : variables_) elements += variable.shape.size();
  if (elements < kLeastForThreads) threads_ = 1;
  if (settings_.loss_scale) {
    for (const auto& [name, dtype] :
         {std::pair("iteration", DType::int64), std::pair("learning_rate", DType::float32),
          std::pair("step_counter", DType::int64), std::pair("dynamic_scale", DType::float32)})
      state_.push_back({std::string("loss_scale_optimizer/") + name, Tensor(dtype, Shape{})});
    state_.back().tensor.set(0, settings_.loss_scale->initial_scale);
    first_ = state_.size();
  }
  add("iteration", Tensor(DType::int64, Shape{}));
  if (!settings_.schedule) add("learning_rate", Tensor(DType::float32, Shape{})).set(0, settings_.learning_rate);
  add_slots();
}

Tensor& Optimizer::add(const std::string& name, Tensor tensor) {
  state_.push_back({settings_.name + "/" + name, std::move(tensor)});
  return state_.back().tensor;
}

bool Optimizer::uses_adam(const Variable& variable) const {
  const auto& muon = std::get<Muon>(settings_.rule);
  if (variable.shape.rank() != 2) return true;
  std::string path = variable.path;
  std::ranges::transform(path, path.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (muon.exclude_embeddings && path.find("embedding") != std::string::npos) return true;
  return std::ranges::any_of(muon.exclude_layers,
                             [&](const std::string& part) { return variable.path.find(part) != std::string::npos; });
}

void Optimizer::add_slots() {
  slots_.resize(variables_.size());
  const auto slot = [&](std::size_t n, const char* what, const Shape& shape, double value = 0.0) {
    std::string path = variables_[n].path;
    std::ranges::replace(path, '/', '_');
    const Tensor tensor = add(path + "_" + what, Tensor(DType::float32, shape));
    if (value != 0.0) fill(tensor, value);
    return tensor;
  };
  const auto own = [&](std::size_t n, const char* what, double value = 0.0) {
    slots_[n].push_back(slot(n, what, variables_[n].shape, value));
  };
  const auto for_all = [&](auto make) {
    for (std::size_t n = 0; n < variables_.size(); ++n) make(n);
  };
  if (settings_.use_ema) for_all([&](std::size_t n) { averages_.push_back(slot(n, "average", variables_[n].shape)); });
  if (settings_.gradient_accumulation_steps)
    for_all([&](std::size_t n) { accumulators_.push_back(slot(n, "gradient_accumulator", variables_[n].shape)); });
  const auto moments = [&](const char* first, const char* second, double value = 0.0) {
    for_all([&](std::size_t n) {
      own(n, first, value);
      own(n, second);
    });
  };
  const auto& rule = settings_.rule;
  if (const auto* sgd = std::get_if<SGD>(&rule)) {
    if (sgd->momentum != 0.0) for_all([&](std::size_t n) { own(n, "momentum"); });
  } else if (const auto* adam = std::get_if<Adam>(&rule)) {
    moments("momentum", "velocity");
    if (adam->amsgrad) for_all([&](std::size_t n) { own(n, "velocity_hat"); });
  } else if (std::holds_alternative<Adamax>(rule)) {
    moments("momentum", "norm");
  } else if (std::holds_alternative<Nadam>(rule)) {
    moments("momentum", "velocity");
    product_ = add("variable", Tensor(DType::float32, Shape{}));
    product_.set(0, 1.0);
  } else if (std::holds_alternative<Lamb>(rule) || std::holds_alternative<ScheduleFreeAdamW>(rule)) {
    moments("momentum", "velocity");
  } else if (const auto* rms = std::get_if<RMSprop>(&rule)) {
    for_all([&](std::size_t n) { own(n, "velocity"); });
    if (rms->momentum > 0.0) for_all([&](std::size_t n) { own(n, "momentum"); });
    if (rms->centered) for_all([&](std::size_t n) { own(n, "average_gradient"); });
  } else if (const auto* adagrad = std::get_if<Adagrad>(&rule)) {
    for_all([&](std::size_t n) { own(n, "accumulator", adagrad->initial_accumulator_value); });
  } else if (std::holds_alternative<Adadelta>(rule)) {
    moments("accumulated_grad", "accumulated_delta_var");
  } else if (const auto* ftrl = std::get_if<Ftrl>(&rule)) {
    moments("accumulator", "linear", ftrl->initial_accumulator_value);
  } else if (std::holds_alternative<Lion>(rule)) {
    for_all([&](std::size_t n) { own(n, "momentum"); });
  } else if (std::holds_alternative<Adafactor>(rule)) {
    for_all([&](std::size_t n) {
      const Shape& shape = variables_[n].shape;
      const int rank = shape.rank();
      if (rank < 2) {  // nobody uses them, and files have them
        slots_[n] = {add("variable", Tensor(DType::int32, Shape{})), add("variable", Tensor(DType::int32, Shape{}))};
      } else {
        Shape columns = shape.slice(0, rank - 2);
        columns.push_back(shape.back());
        slots_[n] = {slot(n, "r", shape.slice(0, rank - 1)), slot(n, "c", columns)};
      }
      own(n, "velocity");
    });
  } else if (std::holds_alternative<Muon>(rule)) {
    for_all([&](std::size_t n) {
      own(n, "momentum");
      if (uses_adam(variables_[n])) own(n, "velocity");
    });
  }
}

void Optimizer::set_state(const std::vector<Tensor>& state) {
  const std::size_t left_out = state.size() + first_ == state_.size() ? first_ : 0;
  if (state.size() + left_out != state_.size())
    throw bad_input("the file has {} variables of the optimizer, and {} has {}", state.size(), settings_.name,
                    state_.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Tensor& own = state_[i + left_out].tensor;
    if (state[i].shape() != own.shape())
      throw bad_input("variable {} of the optimizer is {} in the file, and {} has {}", i, state[i].shape().str(),
                      printable(state_[i + left_out].name), own.shape().str());
    copy(state[i].cast(own.dtype()), own);
  }
}

std::int64_t Optimizer::iteration() const { return state_[first_].tensor.as<std::int64_t>()[0]; }

std::int64_t Optimizer::updates() const { return iteration() / settings_.gradient_accumulation_steps.value_or(1); }

double Optimizer::learning_rate() const {
  return settings_.schedule ? optimizers::learning_rate(*settings_.schedule, iteration())
                            : state_[first_ + 1].tensor.at(0);
}

void Optimizer::set_learning_rate(double rate) {
  if (!settings_.schedule) state_[first_ + 1].tensor.set(0, rate);
}

double Optimizer::loss_scale() const {
  if (settings_.loss_scale) return state_[first_ - 1].tensor.at(0);
  return settings_.loss_scale_factor.value_or(1.0);
}

bool Optimizer::unscale(std::vector<Gradient>& gradients) const {
  const Tensor &counter = state_[first_ - 2].tensor, &scale_now = state_[first_ - 1].tensor;
  const double factor = scale_now.at(0);
  const bool finite = std::ranges::all_of(gradients, [](const Gradient& gradient) {
    return !has(gradient) ||
           std::ranges::all_of(gradient.sum.as<const float>(), [](float x) { return std::isfinite(x); });
  });
  if (!finite) {
    counter.set(0, 0.0);
    scale_now.set(0, factor * 0.5);
    return false;
  }
  for (Gradient& gradient : gradients)
    if (has(gradient)) scale(gradient, 1.0 / factor);
  const bool grows = counter.at(0) == static_cast<double>(settings_.loss_scale->dynamic_growth_steps - 1);
  counter.set(0, grows ? 0.0 : counter.at(0) + 1.0);
  if (grows) scale_now.set(0, factor * 2.0);
  return true;
}

void Optimizer::begin(const std::vector<Tensor>& weights) {
  if (!std::holds_alternative<ScheduleFreeAdamW>(settings_.rule)) return;
  for (std::size_t n = 0; n < weights.size(); ++n) copy(weights[n], slots_[n][0]);
}

double Optimizer::norm(const std::vector<const Tensor*>& of, bool squared) const {
  struct Piece {
    const Tensor* tensor;
    std::int64_t begin, end;
  };
  std::vector<Piece> pieces;
  for (const Tensor* tensor : of)
    for (std::int64_t begin = 0; begin < tensor->size(); begin += kPart)
      pieces.push_back({tensor, begin, std::min(begin + kPart, tensor->size())});
  std::vector<double> sums(pieces.size(), 0.0);
  for_each_part(static_cast<std::int64_t>(pieces.size()), threads_, [&](std::int64_t i) {
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    const std::span<const float> x = piece.tensor->as<const float>();
    double sum = 0.0;
    for (std::int64_t j = piece.begin; j < piece.end; ++j) {
      const double number = x[static_cast<std::size_t>(j)];
      sum += squared ? number : number * number;
    }
    sums[static_cast<std::size_t>(i)] = sum;
  });
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return sum;
}

void Optimizer::clip(std::vector<Gradient>& gradients, StepReport& report) const {
  std::vector<double> squares(gradients.size(), 0.0);
  double all = 0.0;
  for (std::size_t n = 0; n < gradients.size(); ++n) {
    if (!has(gradients[n])) continue;
    const bool entries = gradients[n].squares.bytes() > 0;
    squares[n] = norm({entries ? &gradients[n].squares : &gradients[n].sum}, entries);
    all += squares[n];
  }
  report.gradient_norm = std::sqrt(all);
  const auto scale_by = [&](Gradient& gradient, double factor) {
    if (factor == 1.0) return;
    scale(gradient, factor);
    report.clipped = true;
  };
  for (std::size_t n = 0; n < gradients.size(); ++n) {
    Gradient& gradient = gradients[n];
    if (!has(gradient)) continue;
    if (settings_.clipnorm) {
      scale_by(gradient, *settings_.clipnorm / std::max(std::sqrt(squares[n]), *settings_.clipnorm));
    } else if (settings_.global_clipnorm) {
      const double limit = *settings_.global_clipnorm, size = report.gradient_norm;
      scale_by(gradient, limit * std::min(1.0 / size, 1.0 / limit) + (size - size));
      gradient.squares = Tensor();                                      // the product is dense
    } else if (settings_.clipvalue && gradient.squares.bytes() == 0) {  // entries were clipped before they were added
      const auto limit = static_cast<float>(*settings_.clipvalue);
      gradient.sum = scaled(gradient.sum, 1.0);
      for (float& x : gradient.sum.as<float>()) {
        report.clipped = report.clipped || std::abs(x) > limit;
        x = std::clamp(x, -limit, limit);
      }
    }
  }
}

void Optimizer::decay(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const {
  const auto* muon = std::get_if<Muon>(&settings_.rule);
  if (!settings_.weight_decay && muon == nullptr) return;
  const auto rate = static_cast<float>(learning_rate());
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (!has(gradients[n])) continue;
    const auto share = muon != nullptr && uses_adam(variables_[n]) ? muon->adam_weight_decay : settings_.weight_decay;
    if (!share) continue;
    for (float& v : weights[n].as<float>()) v -= v * static_cast<float>(*share) * rate;
  }
}

void Optimizer::update(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) {
  Step common;
  common.rate = learning_rate();
  common.t = static_cast<double>(updates() + 1);
  if (const auto* nadam = std::get_if<Nadam>(&settings_.rule)) {
    const double factor = nadam->beta_1 * (1.0 - 0.5 * power_of_float(0.96, common.t));
    product_.set(0, product_.at(0) * factor);
    common.product = product_.at(0);
  }
  std::vector<Step> steps(weights.size(), common);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    Step& step = steps[n];
    step.shape = &variables_[n].shape;
    step.size = weights[n].size();
    step.v = weights[n].as<float>().data();
    if (has(gradients[n])) step.g = gradients[n].sum.as<float>().data();
    if (gradients[n].squares.bytes() > 0) step.q = gradients[n].squares.as<float>().data();
    for (const Tensor& slot : slots_[n])
      step.s.push_back(slot.dtype() == DType::float32 ? slot.as<float>().data() : nullptr);
    step.adam = std::holds_alternative<Muon>(settings_.rule) && uses_adam(variables_[n]);
  }
  const std::vector<Part> parts = parts_of(variables_, !is_elementwise(settings_.rule));
  for_each_part(static_cast<std::int64_t>(parts.size()), threads_, [&](std::int64_t i) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    if (steps[part.variable].g != nullptr)
      optimizers::update(settings_.rule, steps[part.variable], part.begin, part.end);
  });
}

void Optimizer::average(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const {
  const auto momentum = static_cast<float>(updates() == 0 ? 0.0 : settings_.ema_momentum);
  const bool overwrites =
      settings_.ema_overwrite_frequency && (updates() + 1) % *settings_.ema_overwrite_frequency == 0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (!has(gradients[n])) continue;
    const std::span<float> v = weights[n].as<float>(), average = averages_[n].as<float>();
    for (std::size_t i = 0; i < v.size(); ++i) {
      average[i] = momentum * average[i] + (1.0F - momentum) * v[i];
      if (overwrites) v[i] = average[i];
    }
  }
}

StepReport Optimizer::apply(const std::vector<Tensor>& weights, const std::vector<Gradient>& given) {
  std::vector<Gradient> gradients = given;
  StepReport report;
  if (settings_.loss_scale) {
    report.skipped = !unscale(gradients);
    if (report.skipped) return report;
  } else if (settings_.loss_scale_factor) {
    const double factor = 1.0 / *settings_.loss_scale_factor;
    for (Gradient& gradient : gradients)
      if (has(gradient)) scale(gradient, factor);
  }
  const std::int64_t accumulated = settings_.gradient_accumulation_steps.value_or(1);
  const bool moves = (iteration() + 1) % accumulated == 0;
  if (settings_.gradient_accumulation_steps) {
    for (std::size_t n = 0; n < gradients.size(); ++n) {
      if (!has(gradients[n])) continue;
      gradients[n].sum = scaled(gradients[n].sum, 1.0);
      const std::span<float> sum = accumulators_[n].as<float>(), g = gradients[n].sum.as<float>();
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (moves) {
          g[i] = (g[i] + sum[i]) / static_cast<float>(accumulated);
          sum[i] = 0.0F;
        } else {
          sum[i] += g[i];
        }
      }
      gradients[n].squares = Tensor();  // a sum over batches is dense
    }
  }
  if (moves) {
    clip(gradients, report);
    report.not_finite = !std::isfinite(report.gradient_norm);
    if (report.not_finite) return report;
    decay(weights, gradients);
    update(weights, gradients);
  }
  if (settings_.use_ema) average(weights, gradients);
  for (std::size_t n = 0; n < weights.size(); ++n)
    if (variables_[n].constraint && has(gradients[n])) constrain(*variables_[n].constraint, weights[n]);
  ++state_[first_].tensor.as<std::int64_t>()[0];
  return report;
}

void Optimizer::finalize(const std::vector<Tensor>& weights) const {
  for (std::size_t n = 0; n < averages_.size(); ++n) copy(averages_[n], weights[n]);
}

}  // namespace attn::optimizers
