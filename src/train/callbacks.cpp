#include "attn/train/callbacks.h"

#include <algorithm>

namespace attn::train {

bool Monitor::improves(double now, const std::optional<double>& before) const {
  if (!before) return true;
  return up ? now - min_delta > *before : now + min_delta < *before;
}

EarlyStopping::Verdict EarlyStopping::end_of_epoch(std::int64_t epoch, double value) {
  if (epoch < start_from_epoch) return Verdict::goes_on;
  ++wait;
  if (watched.improves(value, best)) {
    best = value;
    best_epoch = epoch;
    if (watched.improves(value, baseline)) wait = 0;
    return Verdict::improved;
  }
  return wait >= patience && epoch > 0 ? Verdict::stops : Verdict::goes_on;
}

std::optional<double> ReduceLROnPlateau::end_of_epoch(double value, double learning_rate) {
  if (cooldown_counter > 0) {
    --cooldown_counter;
    wait = 0;
  }
  if (watched.improves(value, best)) {
    best = value;
    wait = 0;
    return std::nullopt;
  }
  if (cooldown_counter > 0 || ++wait < patience || learning_rate <= static_cast<double>(static_cast<float>(min_lr)))
    return std::nullopt;
  cooldown_counter = cooldown;
  wait = 0;
  return std::max(learning_rate * factor, min_lr);
}

}  // namespace attn::train
