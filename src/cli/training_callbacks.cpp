#include "training_callbacks.h"

#include <algorithm>
#include <charconv>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/report/training.h"

namespace attn::cli {
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
  const auto found = std::ranges::find(verdict.logs, name, &std::pair<std::string, double>::first);
  return found == verdict.logs.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

TrainingCallbacks::TrainingCallbacks(const std::optional<std::string>& early_stopping,
                                     const std::optional<std::string>& reduce_lr,
                                     const std::optional<std::string>& save_best, const Watchable& known,
                                     const TrainingState& state)
    : best_weights_(state.best_weights) {
  if (early_stopping) {
    Told<train::EarlyStopping> told = early_stopping_of(*early_stopping);
    resolve(told.callback.watched, told.mode, known);
    told.callback.wait = state.early_stopping.wait;
    told.callback.best = state.early_stopping.best;
    told.callback.best_epoch = state.early_stopping.best_epoch;
    early_stopping_ = told.callback;
  }
  if (reduce_lr) {
    Told<train::ReduceLROnPlateau> told = reduce_lr_of(*reduce_lr);
    resolve(told.callback.watched, told.mode, known);
    told.callback.wait = state.reduce_lr.wait;
    told.callback.cooldown_counter = state.reduce_lr.cooldown;
    told.callback.best = state.reduce_lr.best;
    reduce_lr_ = told.callback;
  }
  if (save_best) {
    saved_.emplace();
    resolve(*saved_, "auto", known);
    saved_best_ = state.save_best.best;
  }
}

EpochVerdict TrainingCallbacks::end_of_epoch(const train::EpochEvent& event, train::Trainer& trainer) {
  TrainingCallbacks next = *this;
  EpochVerdict out = next.judge(event, trainer);
  *this = std::move(next);
  if (out.learning_rate) trainer.optimizer().set_learning_rate(*out.learning_rate);
  return out;
}

EpochVerdict TrainingCallbacks::judge(const train::EpochEvent& event, train::Trainer& trainer) {
  EpochVerdict out;
  out.logs = report::values_of(event.values, event.validation);
  if (saved_) {
    const auto value = value_of(out, saved_->monitor);
    out.is_best = value && saved_->improves(*value, saved_best_);
    if (out.is_best) saved_best_ = value;
  }
  if (reduce_lr_) {
    const double rate = trainer.optimizer().learning_rate();
    out.logs.emplace_back("learning_rate", rate);
    const auto value = value_of(out, reduce_lr_->watched.monitor);
    if (const auto next = value ? reduce_lr_->end_of_epoch(*value, rate) : std::nullopt) {
      out.learning_rate = next;
      out.message = fmt::format("\nEpoch {}: ReduceLROnPlateau reducing learning rate to {}.", event.epoch, *next);
    }
  }
  if (early_stopping_) {
    const auto value = value_of(out, early_stopping_->watched.monitor);
    const auto verdict =
        value ? early_stopping_->end_of_epoch(event.epoch - 1, *value) : train::EarlyStopping::Verdict::goes_on;
    if (verdict == train::EarlyStopping::Verdict::improved && keeps_best_weights())
      best_weights_ = deep_copies(trainer.weights());
    out.stops = verdict == train::EarlyStopping::Verdict::stops;
  }
  return out;
}

void TrainingCallbacks::keep(TrainingState& state) const {
  if (early_stopping_)
    state.early_stopping = {early_stopping_->wait, 0, early_stopping_->best_epoch, early_stopping_->best};
  if (reduce_lr_) state.reduce_lr = {reduce_lr_->wait, reduce_lr_->cooldown_counter, 0, reduce_lr_->best};
  if (saved_) state.save_best.best = saved_best_;
  state.best_weights = best_weights_;
}

void TrainingCallbacks::restore_best_weights(train::Trainer& trainer) const {
  if (keeps_best_weights() && !best_weights_.empty()) trainer.set_weights(best_weights_);
}

SaveEvery save_every_of(const std::optional<std::string>& text) {
  SaveEvery out;
  if (!text) return out;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const std::string unit(end, text->data() + text->size());
  const bool steps = unit == "steps" || unit == "step", epochs = unit.empty() || unit == "epochs" || unit == "epoch";
  if (error != std::errc() || number < 1 || (!steps && !epochs))
    throw bad_usage("--save-every '{}': expected a number of epochs, as 5, or of steps, as 100steps", printable(*text));
  (steps ? out.steps : out.epochs) = number;
  return out;
}

}  // namespace attn::cli
