// attn train: every number of a training config is checked when it is read, and a damaged archive is rejected.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "../../text.h"
#include "attn/base/error.h"
#include "attn/io/tensor_file.h"
#include "attn/train/state.h"
#include "program.h"

namespace attn::test {
namespace {

using Words = std::vector<std::string>;

const std::string kHostileModel = "tests/data/training/norm/batch/start.keras";
const std::string kHostileData = "tests/data/training/norm/batch/data.npz";

Result train_with(const TemporaryFolder& folder, const Words& more) {
  Words line{"train", kHostileModel, "--data", kHostileData, "-o", folder / "out.keras", "--steps", "2", "--quiet"};
  line.insert(line.end(), more.begin(), more.end());
  return run_attn(line);
}

/// An object in Keras's serialization.
std::string object(const std::string& class_name, const std::string& config) {
  return fmt::format(R"({{"class_name": "{}", "config": {{{}}}}})", class_name, config);
}

struct Case {
  std::string option, text, message;
};

void expect_one_error(const Result& result, int code, const std::string& message) {
  CHECK_MESSAGE(result.code == code, result.err);
  CHECK_MESSAGE(contains(result.err, message), result.err);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("train: numbers of an optimizer, loss, metric or schedule out of range are rejected in one line") {
  const auto optimizer = [](const std::string& name, const std::string& config, const std::string& message) {
    return Case{"--optimizer", object(name, config), message};
  };
  const auto schedule = [](const std::string& name, const std::string& config, const std::string& message) {
    return Case{"--optimizer", object("SGD", "\"learning_rate\": " + object(name, config)), message};
  };
  const std::vector<Case> cases = {
      optimizer("SGD", R"("clipvalue": -1)", "/config/clipvalue: expected a number from 0 on"),
      optimizer("SGD", R"("clipnorm": -0.5)", "/config/clipnorm: expected a number from 0 on"),
      optimizer("SGD", R"("global_clipnorm": 1e300)", "/config/global_clipnorm: expected a number from 0 on"),
      optimizer("SGD", R"("learning_rate": 1e39)", "/config/learning_rate: expected a number that float32 holds"),
      optimizer("SGD", R"("learning_rate": "fast")", "/config/learning_rate: expected a number, got \"fast\""),
      optimizer("SGD", R"("momentum": 1.5)", "/config/momentum: expected a number from 0 to 1, got 1.5"),
      optimizer("SGD", R"("use_ema": true, "ema_momentum": 2)", "/config/ema_momentum: expected a number from 0 to 1"),
      optimizer("SGD", R"("ema_overwrite_frequency": -3)",
                "/config/ema_overwrite_frequency: expected an integer from 0"),
      optimizer("SGD", R"("loss_scale_factor": 0)", "/config/loss_scale_factor: expected a number above 0"),
      optimizer("SGD", R"("gradient_accumulation_steps": 1)", "expected an integer > 1, got 1"),
      optimizer("Adam", R"("beta_1": 1)", "/config/beta_1: expected a number from 0 up to, but not including, 1"),
      optimizer("Adam", R"("beta_2": -0.1)", "/config/beta_2: expected a number from 0"),
      optimizer("Nadam", R"("epsilon": -1e-7)", "/config/epsilon: expected a number from 0 on"),
      optimizer("Adam", R"("epsilon": [1])", "/config/epsilon: expected a number, got a list"),
      optimizer("ScheduleFreeAdamW", R"("beta_1": 0)", "/config/beta_1: expected a number above 0 and up to 1"),
      optimizer("ScheduleFreeAdamW", R"("warmup_steps": -1)", "/config/warmup_steps: expected an integer from 0"),
      optimizer("RMSprop", R"("rho": 1.01)", "/config/rho: expected a number from 0 to 1"),
      optimizer("Adagrad", R"("initial_accumulator_value": -1)", "expected a number from 0 on"),
      optimizer("Ftrl", R"("learning_rate_power": 0.5)", "/config/learning_rate_power: expected a number up to 0"),
      optimizer("Lion", R"("beta_1": 0)", "/config/beta_1: expected a number above 0 and up to 1"),
      optimizer("Adafactor", R"("clip_threshold": 0)", "/config/clip_threshold: expected a number above 0"),
      optimizer("Muon", R"("ns_steps": 1099511627776)", "/config/ns_steps: expected an integer from 0 to 1000"),
      {"--optimizer", object("LossScaleOptimizer", R"("inner_optimizer": "adam", "initial_scale": 0)"),
       "/config/initial_scale: expected a number above 0"},
      {"--optimizer", object("LossScaleOptimizer", R"("inner_optimizer": "adam", "dynamic_growth_steps": 0)"),
       "/config/dynamic_growth_steps: expected an integer from 1"},
      schedule("ExponentialDecay", R"("decay_steps": 0)", "/decay_steps: expected a number above 0"),
      schedule("PolynomialDecay", R"("decay_steps": 5, "power": -1)", "/power: expected a number from 0 on"),
      schedule("CosineDecay", R"("decay_steps": -5)", "/decay_steps: expected a number above 0"),
      schedule("CosineDecayRestarts", R"("first_decay_steps": 5, "t_mul": 0)", "/t_mul: expected a number above 0"),
      schedule("PiecewiseConstantDecay", R"("boundaries": [5, 3], "values": [1, 2, 3])",
               "/boundaries: expected numbers that rise"),
      schedule("PiecewiseConstantDecay", R"("boundaries": [3], "values": [1])",
               "expected one more value than boundaries"),
      {"--loss", object("Huber", R"("delta": -1)"), "/config/delta: expected a number from 0 on"},
      {"--loss", object("BinaryCrossentropy", R"("label_smoothing": 1.5)"), "expected a number from 0 to 1, got 1.5"},
      {"--loss", object("CategoricalGeneralizedCrossEntropy", R"("q": 1)"),
       "/config/q: expected a number between 0 and 1"},
      {"--loss", object("MeanSquaredError", R"("name": 5)"), "/config/name: expected a string, got 5"},
      {"--loss", R"({"class_name": "MeanSquaredError", "config": 7})", "/config: expected an object, got 7"},
      {"--loss", "[[1]]", "expected an object"},
      {"--loss-weights", "[1e300]", "expected a number that float32 holds"},
      {"--metrics", "[5]", "expected the name of a metric, or its object, got 5"},
      {"--metrics", R"([{"class_name": 5, "config": {}}])", "/class_name: expected a string, got 5"},
      {"--metrics", R"([{"class_name": "MeanSquaredError", "config": []}])", "/config: expected an object, got a list"},
      {"--metrics", "[" + object("MeanSquaredError", R"("name": {})") + "]", "/config/name: expected a string"},
      {"--metrics", "[" + object("BinaryAccuracy", R"("name": 3)") + "]", "/config/name: expected a string, got 3"},
      {"--metrics", "[" + object("BinaryAccuracy", R"("threshold": "x")") + "]", "/threshold: expected a number"},
      {"--metrics", "[" + object("TopKCategoricalAccuracy", R"("k": 0)") + "]", "/k: expected an integer from 1"},
      {"--metrics", "[" + object("AUC", R"("num_thresholds": 1099511627776)") + "]",
       "/num_thresholds: expected an integer from 2 to 1000000"},
      {"--metrics", "[" + object("AUC", R"("curve": "ROCK")") + "]", "/curve: expected one of ROC, PR"},
      {"--metrics", "[" + object("AUC", R"("from_logits": 1)") + "]", "/from_logits: expected true or false, got 1"},
      {"--metrics", "[" + object("Precision", R"("thresholds": 2)") + "]", "expected a number from 0 to 1, got 2"},
      {"--metrics", "[" + object("Recall", R"("class_id": 1.5)") + "]", "/class_id: expected an integer"},
      {"--metrics", "[" + object("F1Score", R"("average": "mean")") + "]", "/average: expected micro, macro, weighted"},
      {"--metrics", "[" + object("FBetaScore", R"("beta": 0)") + "]", "/beta: expected a number above 0"},
      {"--metrics", "[" + object("MeanIoU", R"("num_classes": 1099511627776)") + "]",
       "/num_classes: expected an integer from 1 to 10000"},
      {"--metrics", "[" + object("IoU", R"("num_classes": 2, "target_class_ids": [2])") + "]",
       "expected classes from 0 to 1, got 2"},
      {"--metrics", "[" + object("IoU", R"("num_classes": 2)") + "]", "target_class_ids"},
      {"--metrics", "[" + object("R2Score", R"("class_aggregation": 3)") + "]",
       "/class_aggregation: expected a string"},
      {"--metrics", "[" + object("PrecisionAtRecall", R"("recall": 1.5)") + "]",
       "/recall: expected a number from 0 to 1"},
      {"--metrics", "[" + object("SensitivityAtSpecificity", "") + "]", "specificity"},
      {"--metrics", "[" + object("AUC", R"("label_weights": [1, "a"])") + "]", "/label_weights/1: expected a number"},
      {"--metrics", "[" + object("TruePositives", R"("thresholds": [])") + "]",
       "expected a threshold, got an empty list"},
      {"--metrics", "[" + object("MeanMetricWrapper", "") + "]", "fn"},
  };
  const TemporaryFolder folder;
  for (const Case& one : cases) {
    CAPTURE(one.text);
    expect_one_error(train_with(folder, {one.option, one.text}), 3, one.message);
    CHECK(folder.names().empty());
  }
  // An option with JSON that is nested too deeply, or has trailing text, is a usage error.
  expect_one_error(train_with(folder, {"--optimizer", std::string(20000, '[')}), 2,
                   "--optimizer: nesting deeper than 64");
  expect_one_error(train_with(folder, {"--loss", R"({"a": 1, "a": 2})"}), 2, "occurs twice in one object");
  CHECK(run_attn({"train", kHostileModel, "--data", kHostileData, "--threads", "100000"}).code == 2);
}

TEST_CASE("train: a regularizer or constraint with wrong types or numbers is rejected in one line") {
  const TemporaryFolder folder;
  const std::string data = folder / "data.npz";
  io::write_tensors(
      data, std::vector<NamedTensor>{{"x", Tensor(DType::float32, {2, 3})}, {"y", Tensor(DType::float32, {2, 2})}});
  const auto trained = [&](const std::string& what, const std::string& class_name, const std::string& config) {
    const std::string layer =
        fmt::format(R"({{"class_name": "Dense", "config": {{"name": "d", "units": 2, "{}": {}}}}})", what,
                    object(class_name, config));
    const std::string model = folder.file("m.json", R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "name": "x"}}, )" +
                                                        layer + "]}}");
    return run_attn({"train", model, "--data", data, "--loss", "mse", "-o", folder / "out.keras", "--quiet"});
  };
  struct Wrong {
    std::string what, class_name, config, message;
  };
  const std::vector<Wrong> cases = {
      {"kernel_regularizer", "L2", R"("l2": "x")", "/l2: expected a number, got \"x\""},
      {"kernel_regularizer", "L1", R"("l1": true)", "/l1: expected a number, got true"},
      {"kernel_regularizer", "L1L2", R"("l1": -1)", "/l1: expected a number from 0 on, got -1"},
      {"kernel_regularizer", "L2", R"("l2": 1e39)", "the l2 of a regularizer is 1e+39"},
      {"kernel_regularizer", "OrthogonalRegularizer", R"("mode": "diagonal")", "/mode: expected rows or columns"},
      {"kernel_constraint", "MaxNorm", R"("max_value": -1)", "/max_value: expected a number from 0 on, got -1"},
      {"kernel_constraint", "MinMaxNorm", R"("min_value": 5)", "expected a min_value up to max_value, got 5 and 1"},
      {"kernel_constraint", "MinMaxNorm", R"("rate": 2)", "/rate: expected a number from 0 to 1, got 2"},
      {"kernel_constraint", "UnitNorm", R"("axis": 0.5)", "/axis: expected an integer, got 0.5"},
      {"kernel_constraint", "UnitNorm", R"("axis": 3)", "along axis 3 of a weight (3, 2)"},
  };
  CHECK(trained("kernel_regularizer", "L1L2", R"("l1": null, "l2": 0.5)").code == 0);
  for (const Wrong& one : cases) {
    CAPTURE(one.class_name + one.config);
    expect_one_error(trained(one.what, one.class_name, one.config), 3, one.message);
  }
}

TEST_CASE("train: 0 disables clipping, overwriting and accumulation, as in Keras") {
  const TemporaryFolder folder;
  const auto dump_with = [&](const std::string& config) {
    const Result result = train_with(folder, {"--optimizer", object("SGD", config), "--dump", folder / "dump.npz"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return read_text(folder / "dump.npz");
  };
  const std::string plain = dump_with("");
  for (const char* field : {"clipvalue", "clipnorm", "global_clipnorm", "gradient_accumulation_steps"})
    CHECK_MESSAGE(dump_with(fmt::format("\"{}\": 0", field)) == plain, field);
  CHECK(dump_with(R"("use_ema": true, "ema_overwrite_frequency": 0)") == dump_with(R"("use_ema": true)"));
}

TEST_CASE("train: an attn_state.json with wrong types, repeated keys, deep nesting or a null character is rejected") {
  train::State state;
  state.position.step = 2;
  state.batch_size = 32;
  state.position.running["loss"] = {{1.5}, {32.0}, keras::MeanRule{}};
  state.draws["dropout"] = 4;
  state.frozen = {"dense"};
  const std::string good = train::text_of(state), place = "m.keras: attn_state.json";
  CHECK(train::text_of(train::parse_state(good, place)) == good);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    const auto at = changed.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    return changed.replace(at, from.size(), to);
  };
  std::string keys = "{";
  for (int i = 0; i < 60000; ++i) keys += fmt::format("\"k{}\": 0, ", i);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "expected an object"},
      {"{}", "the key 'version' is missing"},
      {"{\"version\": 1}", "another version"},
      {keys + "\"version\": 3}", "the key 'epoch' is missing"},
      {std::string(1'000'000, '['), "nesting deeper than 64"},
      {with("\"version\": 3", "\"version\": 3, \"version\": 3"), "occurs twice"},
      {good + '\0' + "{}", "null character"},
      {good + "{}", "not valid JSON"},
      {with("\"step\": 2", "\"step\": -1"), "/step: expected an integer from 0"},
      {with("\"step\": 2", "\"step\": 1e3"), "/step: expected an integer"},
      {with("\"step\": 2", "\"step\": 9223372036854775807"), "/step: expected an integer"},
      {with("\"step\": 2", "\"step\": 18446744073709551615"), "/step: expected an integer"},
      {with("\"step\": 2", "\"step\": \"2\""), "/step: expected an integer"},
      {with("\"batch_size\": 32", "\"batch_size\": 0"), "/batch_size: expected an integer from 1"},
      {with("\"shuffle\": true", "\"shuffle\": 1"), "/shuffle: expected true or false"},
      {with("\"seed\": 0", "\"seed\": -5"), "/seed: expected an integer from 0"},
      {with("\"dropout\": 4", "\"dropout\": -4"), "/draws/dropout: expected an integer from 0"},
      {with("\"dense\"", "7"), "/frozen/0: expected a text"},
      {with("1.5", "1.5, 2"), "as many numbers in total as in count"},
      {with("\"loss_scale\": null", "\"loss_scale\": \"often\""), "/loss_scale: expected a loss scale"},
      {with("\"wait\": 0", "\"wait\": true"), "/early_stopping/wait: expected an integer"},
  };
  for (const auto& [text, message] : cases) {
    const std::string start = text.substr(0, 60);
    CAPTURE(start);
    try {
      (void)train::parse_state(text, place);
      FAIL_CHECK("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      CHECK_MESSAGE(std::string(error.what()).starts_with(place), error.what());
      CHECK_MESSAGE(contains(error.what(), message), error.what());
    }
  }
}

}  // namespace attn::test
