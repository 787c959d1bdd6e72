#include "attn/train/setup.h"

#include <utility>

#include "attn/base/error.h"

namespace attn::train {

FitOptions Setup::fit_options() const {
  FitOptions options;
  options.epochs = overfit.value_or(epochs);  // in a trial, each epoch is one step
  options.steps_per_epoch = steps_per_epoch;
  options.shuffled_block = shuffled_block;
  options.batch_size = batch_size;
  options.steps = steps;
  options.shuffle = !no_shuffle && !overfit;
  options.drop_remainder = drop_remainder;
  options.deadline = deadline;
  return options;
}

void Setup::check_resumed(const State& state) const {
  if (state.batch_size != batch_size)
    throw bad_usage("`resume`: the training has a `batch_size` of {}", state.batch_size);
  if (state.shuffle == no_shuffle)
    throw bad_usage("`resume`: the training is {} `no_shuffle`", state.shuffle ? "without" : "with");
  if (state.shuffled_block != shuffled_block)
    throw bad_usage("`resume`: the training has a `shuffle` {}",
                    state.shuffled_block > 0 ? fmt::format("block:{}", state.shuffled_block) : "rows");
  if (state.steps_per_epoch != steps_per_epoch.value_or(0))
    throw bad_usage("`resume`: the training is {}",
                    state.steps_per_epoch > 0 ? fmt::format("with `steps_per_epoch` {}", state.steps_per_epoch)
                                              : "without `steps_per_epoch`");
}

void Setup::check_counts() const {
  for (const auto& [name, count] : {std::pair("batch_size", batch_size),
                                    {"shuffle", shuffled_block},
                                    {"steps_per_epoch", steps_per_epoch.value_or(0)}})
    if (count > kMostCounted) throw bad_usage("`{}` {}: expected at most 2^53", name, count);
}

}  // namespace attn::train
