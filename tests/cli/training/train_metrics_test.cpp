// attn train: the metrics of Keras, against the history of Keras's fit() (tests/data/metrics).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../capture.h"
#include "../../places.h"
#include "../../text.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kCases = "tests/data/metrics";

json read_json(const std::string& file) {
  std::ifstream in(file);
  return json::parse(in);
}

/// The numbers of a value: one, or a list.
std::vector<double> numbers_of(const json& value) {
  std::vector<double> out;
  for (const json& each : value.is_array() ? value : json::array({value}))
    out.push_back(each.is_null() ? NAN : each.get<double>());
  return out;
}

/// Sums in float32 and in another order; R² subtracts two that are near each other.
bool agree(double value, double expected) {
  constexpr double kTolerance = 2e-5;
  return std::isnan(expected) ? std::isnan(value)
                              : std::abs(value - expected) <= kTolerance * std::max(1.0, std::abs(expected));
}

void check_history(const json& history, const json& expected) {
  CHECK(history.size() == expected.size());
  for (const auto& [name, values] : expected.items()) {
    CAPTURE_BINDING(name);
    REQUIRE(history.contains(name));
    REQUIRE(history[name].size() == values.size());
    for (std::size_t epoch = 0; epoch < values.size(); ++epoch) {
      const std::vector<double> got = numbers_of(history[name][epoch]), want = numbers_of(values[epoch]);
      CAPTURE(epoch);
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        CHECK_MESSAGE(agree(got[i], want[i]), fmt::format("{} is not {}", got[i], want[i]));
    }
  }
}

Result trained(const std::string& name, std::vector<std::string> line) {
  const std::string folder = kCases + "/" + name;
  line.insert(line.begin(), {"train", folder + "/model.keras", "--data", folder + "/data.npz", "--validation",
                             folder + "/validation.npz", "--no-shuffle", "--batch-size", "8", "--epochs", "2"});
  return run_attn(line);
}

/// A metric as Keras writes its object.
std::string metric_object(const std::string& module, const std::string& class_name, const std::string& config = "") {
  return fmt::format(R"([{{"module": {}, "class_name": "{}", "config": {{{}}}, "registered_name": null}}])", module,
                     class_name, config);
}

}  // namespace

TEST_CASE("train: every metric of Keras has Keras's values, with weights and masks, in training and validation") {
  const TemporaryFolder folder;
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_repository(kCases))) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const Result result = trained(name, {"-o", folder / "o.keras", "--json"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    check_history(json::parse(result.out)["history"], read_json((entry.path() / "history.json").string()));
    ++cases;
  }
  CHECK(cases == 8);
}

TEST_CASE("train: an epoch with a resume has the metrics of an uninterrupted one") {
  const TemporaryFolder folder;
  for (const std::string name : {"binary", "one_hot", "regression"}) {
    CAPTURE(name);
    const std::string half = folder / (name + ".keras");
    REQUIRE(trained(name, {"-o", half, "--steps", "2"}).code == 0);
    std::vector<std::string> line{"train",
                                  half,
                                  "--resume",
                                  "--data",
                                  kCases + "/" + name + "/data.npz",
                                  "--validation",
                                  kCases + "/" + name + "/validation.npz",
                                  "--no-shuffle",
                                  "--batch-size",
                                  "8",
                                  "--epochs",
                                  "2",
                                  "-o",
                                  folder / "o.keras",
                                  "--json"};
    const Result result = run_attn(line);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    check_history(json::parse(result.out)["history"], read_json(in_repository(kCases + "/" + name + "/history.json")));
  }
}

TEST_CASE("train: a metric with several numbers is a list in logs and its mean in lines") {
  const TemporaryFolder folder;
  const Result result = trained("one_hot", {"-o", folder / "o.keras", "--metrics", "f1_score", "--log",
                                            folder / "log.jsonl", "--csv", folder / "log.csv"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json expected = read_json(in_repository(kCases + "/one_hot/history.json"))["f1_score"][0];
  double mean = 0.0;
  for (const json& each : expected) mean += each.get<double>() / static_cast<double>(expected.size());
  CHECK_MESSAGE(contains(result.out, fmt::format("- f1_score: {:.4f} ", mean)), result.out);
  std::ifstream log(folder / "log.jsonl");
  std::size_t epochs = 0;
  for (std::string line; std::getline(log, line);) {
    const json event = json::parse(line);
    if (event["event"] == "step") CHECK(event["metrics"]["f1_score"].size() == 4);
    if (event["event"] != "epoch") continue;
    ++epochs;
    CHECK(event["f1_score"].size() == 4);
    CHECK(event["val_f1_score"].size() == 4);
  }
  CHECK(epochs == 2);
  std::ifstream csv(folder / "log.csv");
  std::string header, row;
  std::getline(csv, header);
  std::getline(csv, row);
  CHECK_MESSAGE(row.starts_with("0,\"\"\"[0."), row);
  const Result watched = trained("one_hot", {"-o", folder / "o.keras", "--metrics", "f1_score", "--early-stopping",
                                             "monitor=val_f1_score,patience=1"});
  CHECK(watched.code == 2);
  CHECK_MESSAGE(contains(watched.err, "'val_f1_score' has several values"), watched.err);
}

TEST_CASE("train: the class Accuracy compares numbers, and the string accuracy is resolved by the shapes") {
  const TemporaryFolder folder;
  const auto value_of = [&](const std::string& metrics) {
    const Result result = trained("classes", {"-o", folder / "o.keras", "--metrics", metrics, "--json"});
    return result.code == 0 ? json::parse(result.out)["history"]["accuracy"][0].get<double>() : -1.0;
  };
  CHECK(value_of("accuracy") > 0.0);
  // Classes (8) do not compare with scores (8, 4): Keras fails, too.
  CHECK(value_of(metric_object("\"keras.metrics\"", "Accuracy", R"("name": "accuracy")")) == -1.0);
  CHECK(value_of(metric_object("\"keras.metrics\"", "SparseCategoricalAccuracy", R"("name": "accuracy")")) ==
        value_of("accuracy"));
}

TEST_CASE("train: an unknown metric is rejected with a hint at --metrics none") {
  const TemporaryFolder folder;
  const std::string wrapped = R"("fn": {"module": "builtins", "class_name": "function", "config": "mine"})";
  struct Case {
    std::string metrics, expected;
  };
  for (const Case& one : {Case{metric_object("\"my_metrics\"", "Mine"), "the metric 'Mine' is not known"},
                          {metric_object("null", "Mine"), "'Mine'"},
                          {metric_object("\"keras.metrics\"", "MeanMetricWrapper", wrapped), "'mine'"},
                          {metric_object("\"keras.metrics\"", "Mean"), "the metric 'Mean' takes values"},
                          {metric_object("\"keras.metrics\"", "F1score"), "did you mean 'F1Score'?"},
                          {"f1_scor", "the metric 'f1_scor' is not known (did you mean 'f1_score'?)"},
                          {"IoU", "the metric 'IoU' has no default for num_classes and target_class_ids"},
                          {"mean_io_u", "has no default for num_classes"},
                          {metric_object("\"keras.metrics\"", "MeanIoU"), "num_classes"},
                          {"r2_score", "the metric 'r2_score': targets and predictions must be (batch, columns)"}}) {
    CAPTURE(one.metrics);
    const Result result = trained("masked", {"-o", folder / "o.keras", "--metrics", one.metrics});
    CHECK(result.code != 0);
    CHECK_MESSAGE(contains(result.err, one.expected), result.err);
    CHECK_MESSAGE(contains(result.err, "--metrics none"), result.err);
    CHECK_MESSAGE(contains(result.err, "metric"), result.err);
  }
}

TEST_CASE("summary: a compiled model shows Keras's line of optimizer parameters, byte for byte") {
  for (const auto& entry : std::filesystem::directory_iterator(in_repository(kCases))) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const std::string model = kCases + "/" + name + "/model.keras";
    std::ifstream in(entry.path() / "summary.txt");
    const std::string expected{std::istreambuf_iterator<char>(in), {}};
    CHECK(contains(expected, "Optimizer params"));
    CHECK(run_attn({"summary", model, "--line-length", "80"}).out == expected + "\n");  // print() ends the line
    const json told = json::parse(run_attn({"summary", model, "--json"}).out);
    CHECK(contains(expected, fmt::format("Optimizer params: {} ", told["optimizer_params"].get<std::int64_t>())));
    CHECK(told["total_params"] ==
          told["trainable_params"].get<std::int64_t>() + told["non_trainable_params"].get<std::int64_t>());
  }
}

}  // namespace attn::test
