// Keras's callbacks over given values.
#include "attn/train/callbacks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attn/base/error.h"
#include "attn/train/data.h"
#include "attn/train/fit.h"

namespace attn::test {
namespace {

/// The epoch (from 0) after which a training with these values stops, or -1.
int stops_at(train::EarlyStopping callback, const std::vector<double>& values) {
  for (std::size_t epoch = 0; epoch < values.size(); ++epoch)
    if (callback.end_of_epoch(static_cast<std::int64_t>(epoch), values[epoch]) == train::EarlyStopping::Verdict::stops)
      return static_cast<int>(epoch);
  return -1;
}

}  // namespace

TEST_CASE("early stopping: epochs without improvement are counted, and the first never ends the training") {
  train::EarlyStopping callback;
  callback.patience = 2;
  CHECK(stops_at(callback, {3, 2, 2, 2, 1}) == 3);
  CHECK(stops_at(callback, {3, 2, 2, 1, 1}) == -1);
  callback.watched.min_delta = 0.5;
  CHECK(stops_at(callback, {3, 2.9, 2.8, 1}) == 2);
  callback.start_from_epoch = 2;
  CHECK(stops_at(callback, {1, 1, 3, 3, 3}) == 4);
  train::EarlyStopping rising;
  rising.watched.up = true;
  CHECK(stops_at(rising, {0.1, 0.2, 0.2}) == 2);
}

TEST_CASE("early stopping: an epoch that does not beat the baseline counts") {
  train::EarlyStopping callback;
  callback.patience = 3;
  callback.baseline = 1.0;
  CHECK(stops_at(callback, {4, 3, 2, 2}) == 3);
  CHECK(stops_at(callback, {4, 0.5, 2, 2, 2}) == 4);
}

TEST_CASE("reduce lr: the rate falls after the patience, waits for the cooldown, and has a minimum") {
  train::ReduceLROnPlateau callback;
  callback.factor = 0.5;
  callback.patience = 1;
  callback.cooldown = 2;
  callback.min_lr = 0.3;
  CHECK(!callback.end_of_epoch(1.0, 1.0));
  CHECK(callback.end_of_epoch(1.0, 1.0) == 0.5);
  CHECK(!callback.end_of_epoch(0.99995, 0.5).has_value());  // its change is below min_delta, and the cooldown is active
  CHECK(callback.end_of_epoch(1.0, 0.5) == 0.3);
  callback.cooldown_counter = 0;
  CHECK(!callback.end_of_epoch(1.0, static_cast<double>(0.3F)));
}

TEST_CASE("running values: areas under curves equal keras.metrics.AUC") {
  // Counts at the thresholds 0, 1/2 and 1 for the predictions 0.9 (true), 0.6 (false) and 0.3 (true).
  train::Running area{{2, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 2}, {}, keras::AreaRule{}};
  CHECK(area.value() == doctest::Approx(0.25));
  area.rule = keras::AreaRule{.curve = keras::AreaRule::Curve::pr, .label_weights = {}};
  CHECK(area.value() == doctest::Approx(0.5472673));
}

TEST_CASE("running values: a class that an IoU lists a hundred thousand times is added once") {
  constexpr std::int64_t kClasses = 2000;
  train::Running overlap{std::vector<double>(kClasses * kClasses, 0.0), {}, keras::OverlapRule{}};
  overlap.total[0] = 3.0;
  overlap.total[1] = 1.0;  // a sample of class 0 that is predicted as class 1
  keras::OverlapRule rule;
  rule.classes = kClasses;
  rule.targets.assign(100'000, 0);
  overlap.rule = rule;
  CHECK(overlap.value() == doctest::Approx(0.75));
}

TEST_CASE("class weights: the largest entry of a row is its class, and a class without weight counts 1") {
  Tensor one_hot(DType::float32, {2, 3});
  one_hot.set(2, 1.0);
  one_hot.set(3, 1.0);
  const Tensor weights = train::class_weights(one_hot, {{2, 4.0}});
  CHECK(weights.at(0) == 4.0);
  CHECK(weights.at(1) == 1.0);
  CHECK_THROWS_AS((void)train::class_weights(Tensor(DType::int32, {2, 3, 1}), {}), Error);
}

TEST_CASE("class weights: a target that is not a 64-bit integer has no class") {
  const std::vector<double> targets{std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, 1e300, -1e300, 1.0};
  Tensor labels(DType::float64, {std::ssize(targets)});
  for (std::int64_t i = 0; i < labels.size(); ++i) labels.set(i, targets[static_cast<std::size_t>(i)]);
  const Tensor weights = train::class_weights(labels, {{0, 2.0}, {1, 3.0}, {INT64_MIN, 4.0}, {INT64_MAX, 5.0}});
  for (std::int64_t i = 0; i + 1 < weights.size(); ++i) CHECK(weights.at(i) == 1.0);
  CHECK(weights.at(weights.size() - 1) == 3.0);
}

TEST_CASE("blocks of rows: each row occurs once, and rows of a block stay together") {
  const std::vector<std::int64_t> order = train::permutation_of_blocks(3, 1, 40, 7);
  std::vector<std::int64_t> sorted = order, blocks;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == static_cast<std::int64_t>(i));
  for (const std::int64_t row : order)
    if (blocks.empty() || blocks.back() != row / 7) blocks.push_back(row / 7);
  CHECK(blocks.size() == 6);
  CHECK(order != train::permutation_of_blocks(3, 2, 40, 7));
}

TEST_CASE("steps of an epoch: an epoch ends at the end of the data, as in Keras") {
  train::FitOptions options;
  options.batch_size = 4;
  options.steps_per_epoch = 4;
  std::vector<std::int64_t> passes, firsts, batches;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    const train::EpochRange range = train::epoch_range_of(epoch, 38, options);  // 10 batches
    passes.push_back(range.pass);
    firsts.push_back(range.first);
    batches.push_back(range.batches);
  }
  CHECK(passes == std::vector<std::int64_t>{0, 0, 0, 1, 1});
  CHECK(firsts == std::vector<std::int64_t>{0, 4, 8, 0, 4});
  CHECK(batches == std::vector<std::int64_t>{4, 4, 2, 4, 4});
  options.epochs = 5;
  CHECK(options.steps_in_all(38) == 18);
  options.steps = 7;
  CHECK(options.steps_in_all(38) == 7);
  options.steps.reset();
  options.epochs = std::numeric_limits<std::int64_t>::max();
  CHECK(options.steps_in_all(38) > 1'000'000'000'000);
  options.drop_remainder = true;
  CHECK(train::epoch_range_of(2, 3, options).batches == 0);
  CHECK(options.steps_in_all(3) == 0);
}

}  // namespace attn::test
