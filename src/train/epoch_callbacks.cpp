#include "attn/train/epoch_callbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::train {
namespace {

std::vector<Tensor> deep_copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    out.emplace_back(tensor.dtype(), tensor.shape());
    std::copy_n(tensor.data(), tensor.bytes(), out.back().data());
  }
  return out;
}

std::optional<double> value_of(const EpochVerdict& verdict, const std::string& name) {
  const auto found = std::ranges::find(verdict.logs, name, &Logs::value_type::first);
  return found == verdict.logs.end() ? std::nullopt : std::optional(found->second.front());
}

}  // namespace

EpochCallbacks::EpochCallbacks(const std::optional<UnresolvedCallback<EarlyStopping>>& early_stopping,
                               const std::optional<UnresolvedCallback<ReduceLROnPlateau>>& reduce_lr, bool saves_best,
                               const MonitoredValues& known, const State& state)
    : best_weights_(state.best_weights) {
  if (early_stopping) {
    early_stopping_ = early_stopping->callback;
    resolve(early_stopping_->watched, early_stopping->mode, known);
    early_stopping_->wait = state.early_stopping.wait;
    early_stopping_->best = state.early_stopping.best;
    early_stopping_->best_epoch = state.early_stopping.best_epoch;
  }
  if (reduce_lr) {
    reduce_lr_ = reduce_lr->callback;
    resolve(reduce_lr_->watched, reduce_lr->mode, known);
    reduce_lr_->wait = state.reduce_lr.wait;
    reduce_lr_->cooldown_counter = state.reduce_lr.cooldown;
    reduce_lr_->best = state.reduce_lr.best;
  }
  if (saves_best) {
    saved_.emplace();
    resolve(*saved_, "auto", known);
    saved_best_ = state.save_best.best;
  }
}

EpochVerdict EpochCallbacks::end_of_epoch(const EpochEvent& event, Trainer& trainer) {
  EpochCallbacks next = *this;
  EpochVerdict out = next.judge(event, trainer);
  *this = std::move(next);
  if (out.learning_rate) trainer.optimizer().set_learning_rate(*out.learning_rate);
  return out;
}

EpochVerdict EpochCallbacks::judge(const EpochEvent& event, Trainer& trainer) {
  EpochVerdict out;
  out.logs = logs_of(event.values, event.validation);
  if (saved_) {
    const auto value = value_of(out, saved_->monitor);
    out.is_best = value && saved_->improves(*value, saved_best_);
    if (out.is_best) saved_best_ = value;
  }
  if (reduce_lr_) {
    const double rate = trainer.optimizer().learning_rate();
    out.logs.emplace_back("learning_rate", std::vector{rate});
    const auto value = value_of(out, reduce_lr_->watched.monitor);
    if (const auto next = value ? reduce_lr_->end_of_epoch(*value, rate) : std::nullopt) {
      out.learning_rate = next;
      out.message = fmt::format("\nEpoch {}: ReduceLROnPlateau reducing learning rate to {}.", event.epoch, *next);
    }
  }
  if (early_stopping_) {
    const auto value = value_of(out, early_stopping_->watched.monitor);
    const auto verdict =
        value ? early_stopping_->end_of_epoch(event.epoch - 1, *value) : EarlyStopping::Verdict::goes_on;
    if (verdict == EarlyStopping::Verdict::improved && keeps_best_weights())
      best_weights_ = deep_copies(trainer.weights());
    out.stops = verdict == EarlyStopping::Verdict::stops;
  }
  return out;
}

void EpochCallbacks::keep(State& state) const {
  if (early_stopping_)
    state.early_stopping = {early_stopping_->wait, 0, early_stopping_->best_epoch, early_stopping_->best};
  if (reduce_lr_) state.reduce_lr = {reduce_lr_->wait, reduce_lr_->cooldown_counter, 0, reduce_lr_->best};
  if (saved_) state.save_best.best = saved_best_;
  state.best_weights = best_weights_;
}

void EpochCallbacks::restore_best_weights(Trainer& trainer) const {
  if (keeps_best_weights() && !best_weights_.empty()) trainer.set_weights(best_weights_);
}

MonitoredValues monitored_values(const keras::LossGraph& model, bool validates) {
  MonitoredValues out;
  const auto outputs =
      std::ranges::count_if(model.terms, [](const auto& term) { return term.name != "regularization"; });
  for (const std::string prefix : {"", "val_"}) {
    if (!prefix.empty() && !validates) continue;
    out.names.push_back(prefix + "loss");
    if (outputs > 1)
      for (const auto& term : model.terms)
        if (term.name != "regularization") out.names.push_back(prefix + term.name);
    for (const auto& metric : model.metrics) {
      (metric.numbers > 1 ? out.lists : out.names).push_back(prefix + metric.name);
      if (metric.up) out.rising.push_back(prefix + metric.name);
    }
  }
  out.usual = validates ? "val_loss" : "loss";
  return out;
}

void resolve(Monitor& monitor, const std::string& mode, const MonitoredValues& known) {
  if (monitor.monitor.empty()) monitor.monitor = known.usual;
  if (std::ranges::count(known.lists, monitor.monitor) > 0)
    throw bad_usage("'{}' has several values, such as one per class, and cannot be monitored",
                    printable(monitor.monitor));
  if (std::ranges::count(known.names, monitor.monitor) == 0)
    throw bad_usage("'{}' cannot be monitored{}: the training reports {}{}", printable(monitor.monitor),
                    did_you_mean(monitor.monitor, std::span<const std::string>(known.names)), join(known.names, ", "),
                    known.usual == "loss" ? "; with `validation` or `validation_split` also val_loss" : "");
  monitor.up = mode == "auto" ? std::ranges::count(known.rising, monitor.monitor) > 0 : mode == "max";
  monitor.min_delta = std::abs(monitor.min_delta);
}

}  // namespace attn::train
