// attn evaluate: the loss and the metrics over data, against Keras's evaluate().
#include <doctest/doctest.h>

#include <fstream>
#include <map>
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

std::string of_two_outputs(const char* file) {
  return in_repository(std::string("tests/data/training/loss/two_outputs/") + file);
}

json evaluated(std::vector<std::string> words) {
  words.insert(words.begin(),
               {"evaluate", of_two_outputs("start.keras"), "--data", of_two_outputs("data.npz"), "--json"});
  const Result result = run_attn(words);
  REQUIRE_MESSAGE(result.code == 0, result.err);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("evaluate: the values are those of Keras's evaluate()") {
  const json report = evaluated({"--batch-size", "8"});
  // keras.models.load_model("start.keras").evaluate(…, batch_size=8, return_dict=True), Keras 3.15.1 on TensorFlow
  const std::map<std::string, double> wanted = {{"kind_accuracy", 0.375},
                                                {"kind_loss", 1.6142927408218384},
                                                {"loss", 3.8266468048095703},
                                                {"price_loss", 1.9935369491577148},
                                                {"price_mae", 2.477522373199463}};
  CHECK(report["values"].size() == wanted.size());
  for (const auto& [name, value] : wanted)  // sums of 40 float32 numbers in another order
    CHECK_MESSAGE(report["values"][name].get<double>() == doctest::Approx(value).epsilon(1e-5), name);
  CHECK(report["rows"] == 40);
}

TEST_CASE("evaluate: an incomplete last batch counts by its rows") {
  const json all = evaluated({"--batch-size", "40"}), parts = evaluated({"--batch-size", "16"});
  for (const char* name : {"kind_accuracy", "price_mae", "loss"})
    CHECK_MESSAGE(
        parts["values"][name].get<double>() == doctest::Approx(all["values"][name].get<double>()).epsilon(1e-5), name);
}

TEST_CASE("evaluate: options replace the loss and the metrics") {
  const json values = evaluated({"--metrics", "none", "--batch-size", "40"})["values"];
  CHECK(values.size() == 3);
  CHECK(values.contains("loss"));
  const json weighted = evaluated({"--loss-weights", "0,1", "--metrics", "none", "--batch-size", "40"})["values"];
  CHECK(weighted["loss"] == values["price_loss"]);
}

TEST_CASE("evaluate: a model that was never compiled needs a loss, and no optimizer") {
  const TemporaryFolder folder;
  json model = json::parse(run_attn({"get-config", of_two_outputs("start.keras")}).out);
  model.erase("compile_config");
  const std::string config = folder / "config.json";
  std::ofstream(config) << model;
  const Result result = run_attn({"evaluate", config, "--data", of_two_outputs("data.npz")});
  CHECK(result.code == 3);
  CHECK(contains(result.err, "the model is not compiled: give --loss\n"));
  CHECK(run_attn({"evaluate", config, "--data", of_two_outputs("data.npz"), "--loss",
                  R"({"kind": "sparse_categorical_crossentropy", "price": "mse"})"})
            .code == 0);
}

TEST_CASE("evaluate: an output without a loss has metrics, as in Keras") {
  const json values = evaluated({"--loss", R"({"kind": "sparse_categorical_crossentropy"})", "--metrics",
                                 R"({"kind": "accuracy", "price": "mae"})"})["values"];
  CHECK(values.size() == 3);
  CHECK(values["kind_accuracy"].get<double>() == doctest::Approx(0.375).epsilon(1e-5));
  CHECK(values["price_mae"].get<double>() == doctest::Approx(2.477522373199463).epsilon(1e-5));
}

TEST_CASE("evaluate: metrics by another name than the output's are those of a single output, and else an error") {
  const std::string single = in_repository("tests/data/metrics/binary/");
  const Result one = run_attn({"evaluate", single + "model.keras", "--data", single + "data.npz", "--metrics",
                               R"({"other": ["mse", "mae"]})", "--json"});
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const json values = json::parse(one.out)["values"];
  CHECK(values.size() == 3);
  CHECK(values.contains("mse"));
  CHECK(values.contains("mae"));
  const Result two = run_attn({"evaluate", of_two_outputs("start.keras"), "--data", of_two_outputs("data.npz"),
                               "--metrics", R"({"prices": "mse"})"});
  CHECK(two.code == 3);
  CHECK(contains(two.err, "the metrics of 'prices', which is not an output (did you mean 'price'?)"));
}

TEST_CASE("evaluate: -o writes the report, in the format of its extension") {
  const TemporaryFolder folder;
  const auto written = [&](const char* file) {
    return run_attn(
        {"evaluate", of_two_outputs("start.keras"), "--data", of_two_outputs("data.npz"), "-o", folder / file});
  };
  REQUIRE(written("report.txt").code == 0);
  CHECK(contains(read_text(folder / "report.txt"), "price_mae"));
  REQUIRE(written("report.json").code == 0);
  CHECK(json::parse(read_text(folder / "report.json"))["values"].contains("price_mae"));
  CHECK(written("report.npz").code == 2);
}

TEST_CASE("evaluate: data are required") {
  const std::string model = of_two_outputs("start.keras");
  const Result none = run_attn({"evaluate", model});
  CHECK(none.code == 2);
  CHECK(contains(none.err, "no data: give --data FILE, or --x FILE and --y FILE"));
}

}  // namespace attn::test
