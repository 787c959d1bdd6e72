// attn train: the settings of compile(), and the options that override them.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../places.h"
#include "../../text.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kNormModel = "tests/data/training/norm/batch/start.keras";
const std::string kNormData = "tests/data/training/norm/batch/data.npz";

Result trained(std::vector<std::string> line) {
  line.insert(line.begin(), "train");
  return run_attn(line);
}

}  // namespace

TEST_CASE("train: custom objects of the compile_config are named, with the options that replace them") {
  const TemporaryFolder folder;
  const std::string own = folder.file("own.json", R"({
    "optimizer": {"module": null, "class_name": "MyAdam", "config": {}, "registered_name": "MyAdam"},
    "loss": [{"module": "builtins", "class_name": "function", "config": "my_loss", "registered_name": "function"}],
    "metrics": ["mae", {"class_name": "__lambda__", "config": {"value": "4wE="}}],
    "weighted_metrics": null})");
  const auto with = [&](std::vector<std::string> line) {
    for (const std::string& word : {kNormModel, std::string("--data"), kNormData, std::string("-o"), folder / "a.keras",
                                    std::string("--compile"), own})
      line.push_back(word);
    return trained(line);
  };
  const Result all = with({});
  CHECK(all.code == 3);
  CHECK_MESSAGE(contains(all.err, "'my_loss', 'MyAdam', 'a lambda'"), all.err);
  CHECK(contains(all.err, "give --loss, --optimizer, --metrics instead"));
  CHECK(contains(with({"--loss", "mse", "--optimizer", "adam"}).err,
                 "with custom functions or classes, 'a lambda', of which"));
  const Result mended = with({"--loss", "mse", "--optimizer", "adam", "--metrics", "mae,mse"});
  REQUIRE_MESSAGE(mended.code == 0, mended.err);
  CHECK(contains(mended.out, "mae: "));
  CHECK(contains(mended.out, "mse: "));
  const Result none = with({"--loss", "mse", "--optimizer", "adam", "--metrics", "none"});
  REQUIRE_MESSAGE(none.code == 0, none.err);
  CHECK(!contains(none.out, "mae: "));
}

TEST_CASE("train: --dtype trains in a mixed policy, which the file keeps for a resume") {
  const TemporaryFolder folder;
  const auto losses = [&](const std::vector<std::string>& words, const std::string& name) {
    std::vector<std::string> line{kNormModel,     "--data", kNormData, "-o", folder / (name + ".keras"),
                                  "--batch-size", "8",      "--json"};
    line.insert(line.end(), words.begin(), words.end());
    const Result result = trained(line);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    const json report = json::parse(result.out);
    CHECK(std::filesystem::exists(folder / (name + ".keras")));
    return report["history"]["loss"][0].get<double>();
  };
  const double single = losses({}, "single");
  for (const std::string policy : {"mixed_bfloat16", "mixed_float16"}) {
    const double mixed = losses({"--dtype", policy}, policy);
    CHECK(mixed != single);
    CHECK(mixed == doctest::Approx(single).epsilon(0.1));
    CHECK(contains(run_attn({"get-config", folder / (policy + ".keras"), "--json"}).out, policy));
    const Result resumed = trained({folder / (policy + ".keras"), "--data", kNormData, "-o", folder / "more.keras",
                                    "--batch-size", "8", "--epochs", "2", "--resume"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(contains(run_attn({"get-config", folder / "more.keras", "--json"}).out, policy));
  }
  CHECK(losses({"--dtype", "float32"}, "same") == single);
}

TEST_CASE("train: options change single fields of compile_config, in Keras's format") {
  const TemporaryFolder folder;
  const auto compiled = [&](std::vector<std::string> line) {
    for (const std::string& word :
         {std::string("-o"), folder / "a.keras", std::string("--progress"), std::string("none")})
      line.push_back(word);
    const Result result = trained(line);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return json::parse(io::parse_keras_archive(io::read_file(folder / "a.keras"), "a.keras").config)["compile_config"];
  };
  const json sgd =
      compiled({kNormModel, "--data", kNormData, "--optimizer", "adamw", "--learning-rate", "0.25", "--weight-decay",
                "0.125", "--clipnorm", "1", "--accumulate", "2", "--ema", "0.5"})["optimizer"];
  CHECK(sgd["class_name"] == "AdamW");
  CHECK(sgd["module"] == "keras.optimizers");
  CHECK(sgd["config"] == json{{"learning_rate", 0.25},
                              {"weight_decay", 0.125},
                              {"clipnorm", 1.0},
                              {"gradient_accumulation_steps", 2},
                              {"use_ema", true},
                              {"ema_momentum", 0.5}});
  const json loss =
      compiled({"tests/data/training/loss/top_k/start.keras", "--data", "tests/data/training/loss/top_k/data.npz",
                "--loss", "sparse_categorical_crossentropy", "--from-logits"})["loss"];
  CHECK(loss["class_name"] == "SparseCategoricalCrossentropy");
  CHECK(loss["config"]["from_logits"] == true);
  const Result both =
      trained({kNormModel, "--data", kNormData, "-o", folder / "b.keras", "--clipnorm", "1", "--clipvalue", "1"});
  CHECK(both.code == 3);
  CHECK(contains(both.err, "only one of clipnorm, clipvalue and global_clipnorm can be given"));
  const Result none = trained({kNormModel, "--data", kNormData, "-o", folder / "b.keras", "--label-smoothing", "0.1"});
  CHECK(none.code == 2);
  CHECK(contains(none.err, "--label-smoothing: the loss MeanSquaredError has no 'label_smoothing'"));
}

TEST_CASE("train: a compile_config may have NaN where nothing reads it, and the trained file is trained further") {
  const TemporaryFolder folder;
  const std::string told =
      folder.file("compile.json", R"({"loss": "mse", "optimizer": {"module": "keras.optimizers", "class_name": "SGD",
                                      "config": {}, "registered_name": NaN}, "run_eagerly": NaN})");
  const Result first = trained({kNormModel, "--data", kNormData, "-o", folder / "a.keras", "--compile", told});
  CHECK_MESSAGE(first.code == 0, first.err);
  const Result next = trained({folder / "a.keras", "--data", kNormData, "-o", folder / "b.keras", "--weight-decay",
                               "0.125", "--lora", "2", "--lora-layers", "*"});
  CHECK_MESSAGE(next.code != 70, next.err);
}

TEST_CASE("train: a Keras function is known by its name, as a loss and as a metric") {
  const TemporaryFolder folder;
  const std::string function = R"({"module": "builtins", "class_name": "function", "config": "mean_absolute_error",
                                   "registered_name": "function"})";
  const std::string told =
      folder.file("compile.json", R"({"loss": )" + function + R"(, "metrics": [)" + function + "]}");
  const Result result = trained({kNormModel, "--data", kNormData, "-o", folder / "a.keras", "--compile", told});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(contains(result.out, "mean_absolute_error: "));
}

TEST_CASE("train: --compile trains with another compile_config, which the file keeps") {
  const TemporaryFolder folder;
  const std::string told = folder.file("compile.json", R"({"loss": "mae", "metrics": ["mse"],
    "optimizer": {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.25}}})");
  const Result result = trained({kNormModel, "--data", kNormData, "-o", folder / "a.keras", "--compile", told});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(contains(result.out, "SGD, mean_absolute_error"));
  const Result again = trained({folder / "a.keras", "--data", kNormData, "-o", folder / "b.keras"});
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(contains(again.out, "SGD, mean_absolute_error"));
  const Result wrong = trained(
      {kNormModel, "--data", kNormData, "-o", folder / "c.keras", "--compile", folder.file("list.json", "[1, 2]")});
  CHECK(wrong.code == 3);
  CHECK(contains(wrong.err, "list.json: not a compile_config"));
}

TEST_CASE("train: a new ScheduleFreeAdamW warns about a different start than Keras's, and a resumed one does not") {
  const TemporaryFolder folder;
  const Result fresh =
      trained({kNormModel, "--data", kNormData, "-o", folder / "a.keras", "--optimizer", "ScheduleFreeAdamW"});
  REQUIRE_MESSAGE(fresh.code == 0, fresh.err);
  CHECK_MESSAGE(contains(fresh.err, "the momentum of ScheduleFreeAdamW starts at the weights"), fresh.err);
  const Result more = trained({folder / "a.keras", "--data", kNormData, "-o", folder / "b.keras"});
  REQUIRE_MESSAGE(more.code == 0, more.err);
  CHECK_MESSAGE(!contains(more.err, "ScheduleFreeAdamW"), more.err);
}

}  // namespace attn::test
