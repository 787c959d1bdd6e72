// attn train: input and output files, resuming, and errors.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "../../places.h"
#include "../../text.h"
#include "attn/base/error.h"
#include "attn/io/sha256.h"
#include "attn/io/tensor_file.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kModel = "tests/data/training/norm/batch/start.keras";
const std::string kData = "tests/data/training/norm/batch/data.npz";

/// The arrays of a file, as bytes by name.
std::map<std::string, std::string> bytes_of(const std::string& file) {
  std::map<std::string, std::string> out;
  for (const NamedTensor& array : io::read_tensors(file))
    out[array.name] =
        std::string(reinterpret_cast<const char*>(array.tensor.data()), static_cast<std::size_t>(array.tensor.bytes()));
  return out;
}

/// Writes a file with the arrays of another, after `change`.
std::string changed_data(const TemporaryFolder& folder, const std::string& data, const std::string& name,
                         const std::function<void(NamedTensor&)>& change) {
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(data));
  for (NamedTensor& array : arrays) change(array);
  io::write_tensors(folder / name, arrays);
  return folder / name;
}

Result train(std::vector<std::string> line) {
  line.insert(line.begin(), "train");
  return run_attn(line);
}

}  // namespace

TEST_CASE("train: a stop and a resume give the bits of one run, for any number of threads") {
  const TemporaryFolder folder;
  const std::vector<std::string> common{"--data", kData, "--batch-size", "7", "--epochs", "3"};
  const auto with = [&](std::vector<std::string> line) {
    line.insert(line.end(), common.begin(), common.end());
    return train(line);
  };
  REQUIRE(with({kModel, "-o", folder / "a.keras", "--dump", folder / "a.npz", "--threads", "1"}).code == 0);
  REQUIRE(with({kModel, "-o", folder / "b.keras", "--steps", "8"}).code == 0);
  const Result resumed = with({folder / "b.keras", "-o", folder / "b.keras", "--dump", folder / "b.npz", "--resume"});
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(bytes_of(folder / "a.npz") == bytes_of(folder / "b.npz"));
  CHECK(contains(resumed.out, "Epoch 3/3"));
  CHECK(!contains(resumed.out, "Epoch 1/3"));
}

TEST_CASE("train: weights and optimizer state continue without --resume, and epochs begin again") {
  const TemporaryFolder folder;
  REQUIRE(train({kModel, "--data", kData, "-o", folder / "a.keras", "--batch-size", "4"}).code == 0);
  const Result again = train(
      {folder / "a.keras", "--data", kData, "-o", folder / "a.keras", "--batch-size", "4", "--dump", folder / "a.npz"});
  REQUIRE_MESSAGE(again.code == 0, again.err);
  for (const NamedTensor& array : io::read_tensors(folder / "a.npz"))
    if (array.name == "optimizer:0") CHECK(array.tensor.at(0) == 20.0);  // 40 rows in two epochs
}

TEST_CASE("train: the log has one event per line, and --json the history of the epochs") {
  const TemporaryFolder folder;
  const Result result = train({kModel, "--data", kData, "-o", folder / "a.keras", "--epochs", "2", "--batch-size", "16",
                               "--validation-split", "0.25", "--log", folder / "log.jsonl", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json report = json::parse(result.out);
  CHECK(report["rows"] == 30);
  CHECK(report["steps"] == 4);
  CHECK(report["history"]["loss"].size() == 2);
  CHECK(report["history"]["val_loss"].size() == 2);
  std::istringstream lines(read_text(folder / "log.jsonl"));
  std::vector<std::string> events;
  std::map<std::string, json> last;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    events.push_back(event["event"]);
    last[events.back()] = event;
  }
  CHECK(events ==
        std::vector<std::string>{"start", "step", "step", "epoch", "step", "step", "epoch", "checkpoint", "end"});
  CHECK(last["start"]["policy"] == "float32");
  CHECK(last["start"]["device"] == "cpu");
  CHECK(last["start"]["threads"] >= 1);
  CHECK(last["start"]["memory"] > 0);
  CHECK(last["start"]["data"]["rows"] == 30);
  CHECK(last["start"]["data"]["sha256"].get<std::string>().size() == 64);
  const std::string archive = read_text(folder / "a.keras");
  CHECK(last["checkpoint"]["sha256"] == io::sha256(std::as_bytes(std::span(archive))));
}

TEST_CASE("train: a step in the log has the metrics of its batch only") {
  const TemporaryFolder folder;
  const std::string model = "tests/data/training/loss/two_outputs/start.keras";
  const std::string data = "tests/data/training/loss/two_outputs/data.npz";
  REQUIRE(train({model, "--data", data, "-o", folder / "a.keras", "--batch-size", "20", "--log", folder / "log.jsonl"})
              .code == 0);
  std::istringstream lines(read_text(folder / "log.jsonl"));
  double sum = 0.0, over_epoch = 0.0;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    if (event["event"] == "step") {
      CHECK(event["metrics"].size() == 4);  // a loss and a metric for each output
      sum += event["metrics"]["kind_accuracy"].get<double>();
    }
    if (event["event"] == "epoch") over_epoch = event["kind_accuracy"];
  }
  CHECK(sum / 2.0 == doctest::Approx(over_epoch));
}

TEST_CASE("train: a non-finite loss exits with code 1 and keeps the file unchanged") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(kData));
  for (NamedTensor& array : arrays)
    if (array.name == "x") array.tensor.set(array.tensor.size() - 1, std::numeric_limits<double>::infinity());
  io::write_tensors(folder / "bad.npz", arrays);
  const std::string kept = folder.file("a.keras", "kept");
  const Result result = train({kModel, "--data", folder / "bad.npz", "-o", kept, "--no-shuffle"});
  CHECK(result.code == 1);
  CHECK(contains(result.err, "step 2 is not finite, first in the array 'x' of the data"));
  CHECK(read_text(kept) == "kept");
}

TEST_CASE("train: mismatched data is rejected in one sentence") {
  const TemporaryFolder folder;
  const auto error = [&](std::vector<std::string> line, int code) {
    const Result result = train(std::move(line));
    CHECK_MESSAGE(result.code == code, result.err);
    return result.err;
  };
  const std::string out = folder / "a.keras";
  CHECK(contains(error({"tests/data/training/optimizer/start.keras", "--data", "tests/data/training/optimizer/data.npz",
                        "-o", out},
                       3),
                 "the model is not compiled: give --loss"));
  CHECK(contains(error({kModel, "--data", kData, "-o", folder / "a.npz"}, 2), "expected a .keras file"));
  CHECK(contains(error({kModel, "--data", kData, "-o", out, "--optimizer", "adan"}, 3),
                 "the optimizer 'adan' is not known (did you mean 'Adam'?)"));
  CHECK(contains(error({kModel, "--data", kData, "-o", out, "--resume"}, 3), "no training state to resume from"));
  CHECK(contains(error({"tests/data/training/loss/two_outputs/start.keras", "--data", kData, "-o", out}, 3),
                 "the input 'x' has the shape (None, 6, 8), but its array has"));
}

TEST_CASE("train: a training above the memory limit is rejected before it begins, with the way out") {
  const TemporaryFolder folder;
  const Result result =
      train({kModel, "--data", kData, "-o", folder / "a.keras", "--batch-size", "7", "--mem-limit", "1MB"});
  CHECK(result.code == static_cast<int>(ExitCode::no_memory));
  CHECK_MESSAGE(contains(result.err, "training takes"), result.err);
  CHECK(contains(result.err, "--recompute layer"));
  CHECK(!std::filesystem::exists(folder / "a.keras"));
}

TEST_CASE("train: recomputing activations gives the same bits") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& file, const std::string& checkpoint) {
    const Result result = train({kModel, "--data", kData, "-o", folder / "a.keras", "--batch-size", "7", "--dump",
                                 folder / file, "--recompute", checkpoint});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return bytes_of(folder / file);
  };
  CHECK(with("kept.npz", "none") == with("again.npz", "layer"));
}

TEST_CASE("train: early stopping ends the training, and a resume continues its counts") {
  const TemporaryFolder folder;
  const std::vector<std::string> common{"--data",
                                        kData,
                                        "--batch-size",
                                        "16",
                                        "--validation-split",
                                        "0.3",
                                        "--epochs",
                                        "6",
                                        "--early-stopping",
                                        "patience=1,min_delta=100,restore_best_weights",
                                        "--reduce-lr",
                                        "patience=1,min_delta=100,monitor=loss,factor=0.5"};
  const auto with = [&](std::vector<std::string> line) {
    line.insert(line.end(), common.begin(), common.end());
    return train(line);
  };
  const Result whole =
      with({kModel, "-o", folder / "a.keras", "--dump", folder / "a.npz", "--csv", folder / "a.csv", "--json"});
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  const json report = json::parse(whole.out);
  CHECK(report["end"] == "early stopping");
  CHECK(report["epochs"] == 2);
  CHECK(report["history"]["learning_rate"].size() == 2);
  CHECK(read_text(folder / "a.csv").starts_with("epoch,learning_rate,loss,val_loss\r\n0,"));

  REQUIRE(with({kModel, "-o", folder / "b.keras", "--steps", "3", "--save-every", "1steps"}).code == 0);
  const Result resumed = with({folder / "b.keras", "-o", folder / "b.keras", "--dump", folder / "b.npz", "--resume"});
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(bytes_of(folder / "a.npz") == bytes_of(folder / "b.npz"));
  const auto weights_in = [&](const std::string& file) {
    return run_attn({"weights", file, "--expect", folder / "a.keras"}).code;
  };
  CHECK(weights_in(folder / "b.keras") == 0);
}

TEST_CASE("train: a frozen layer keeps its weights, in files too") {
  const TemporaryFolder folder;
  const std::string start = "tests/data/training/dropout/noise/start.keras",
                    data = "tests/data/training/dropout/noise/data.npz";
  const Result result = train(
      {start, "--data", data, "-o", folder / "a.keras", "--freeze", "dense", "--dump", folder / "a.npz", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  CHECK(json::parse(result.out)["trainable_params"] == 16);
  REQUIRE(run_attn({"convert", start, folder / "before.npz"}).code == 0);
  auto before = bytes_of(folder / "before.npz"), after = bytes_of(folder / "a.npz");
  CHECK(before.at("dense/kernel") == after.at("weight:dense/kernel"));
  CHECK(before.at("dense_1/kernel") != after.at("weight:dense_1/kernel"));
  CHECK(contains(run_attn({"get-config", folder / "a.keras"}).out, "\"trainable\": false"));
  const Result only =
      train({start, "--data", data, "-o", folder / "b.keras", "--train", "dense_1", "--dump", folder / "b.npz"});
  REQUIRE_MESSAGE(only.code == 0, only.err);
  CHECK(bytes_of(folder / "b.npz").at("weight:dense/kernel") == before.at("dense/kernel"));
  CHECK(contains(train({start, "--data", data, "-o", folder / "c.keras", "--freeze", "dens"}).err, "no layer matches"));
}

TEST_CASE("train: class weights act as sample weights by class") {
  const TemporaryFolder folder;
  const std::string start = "tests/data/training/loss/top_k/start.keras",
                    data = "tests/data/training/loss/top_k/data.npz";
  REQUIRE(train({start, "--data", data, "-o", folder / "a.keras", "--class-weight", R"({"1": 3, "5": 0.5})", "--dump",
                 folder / "a.npz"})
              .code == 0);
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(data));
  for (const NamedTensor& array : arrays) {
    if (array.name != "y") continue;
    Tensor weights(DType::float32, {array.tensor.shape()[0]});
    for (std::int64_t i = 0; i < weights.size(); ++i)
      weights.set(i, array.tensor.at(i) == 1.0 ? 3.0 : array.tensor.at(i) == 5.0 ? 0.5 : 1.0);
    arrays.push_back({"sample_weight", weights});
    break;
  }
  io::write_tensors(folder / "weighted.npz", arrays);
  REQUIRE(
      train({start, "--data", folder / "weighted.npz", "-o", folder / "b.keras", "--dump", folder / "b.npz"}).code ==
      0);
  CHECK(bytes_of(folder / "a.npz") == bytes_of(folder / "b.npz"));
  CHECK(train({start, "--data", folder / "weighted.npz", "-o", folder / "b.keras", "--class-weight", "{\"1\": 2}"})
            .code == 2);
}

TEST_CASE("train: low-rank weights resume with their values, and files hold the merged weights") {
  const TemporaryFolder folder;
  const std::vector<std::string> common{"--data", kData, "--batch-size", "8", "--epochs", "2"};
  const auto with = [&](std::vector<std::string> line) {
    line.insert(line.end(), common.begin(), common.end());
    return train(line);
  };
  const Result whole = with({kModel, "-o", folder / "a.keras", "--lora", "2,4", "--dump", folder / "a.npz"});
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  REQUIRE(with({kModel, "-o", folder / "b.keras", "--lora", "2,4", "--steps", "3"}).code == 0);
  const Result resumed = with({folder / "b.keras", "-o", folder / "b.keras", "--resume", "--dump", folder / "b.npz"});
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(bytes_of(folder / "a.npz") == bytes_of(folder / "b.npz"));
  CHECK(contains(run_attn({"get-config", folder / "a.keras"}).out, "\"lora_alpha\": 4"));
}

TEST_CASE("train: a time limit ends the training after a step, and the resume command is printed") {
  const TemporaryFolder folder;
  const Result result = train({kModel, "--data", kData, "-o", folder / "a.keras", "--batch-size", "4", "--time-limit",
                               "0s", "--json", "--log", folder / "log.jsonl"});
  REQUIRE(result.code == 0);
  CHECK(json::parse(result.out)["end"] == "time limit");
  CHECK(contains(read_text(folder / "log.jsonl"), "\"time_limit\""));
  CHECK(json::parse(result.out)["steps"] == 1);
  CHECK(contains(result.err, "time limit reached after step 1; resume with: attn train "));
}

TEST_CASE("train: data that has changed since the checkpoint is reported") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(kData));
  io::write_tensors(folder / "data.npz", arrays);
  REQUIRE(train({kModel, "--data", folder / "data.npz", "-o", folder / "a.keras", "--steps", "1"}).code == 0);
  for (NamedTensor& array : arrays)
    if (array.name == "x") array.tensor.set(0, 7.0);
  io::write_tensors(folder / "data.npz", arrays);
  const Result result =
      train({folder / "a.keras", "--data", folder / "data.npz", "-o", folder / "a.keras", "--resume", "--epochs", "2"});
  CHECK(result.code == 0);
  CHECK(contains(result.err, "the array 'x' of the data has changed"));
}

TEST_CASE("train: a failed training keeps its steps, and a resume gives the bits of an uninterrupted run") {
  const TemporaryFolder folder;
  const std::string start = folder.file("start.json", R"({"class_name": "Sequential", "config": {"layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "int32", "name": "x"}},
    {"class_name": "Rescaling", "config": {"name": "tenth", "scale": 0.1}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 1}}]}})");
  constexpr std::int64_t kRows = 40, steps = kRows / 4;
  const Tensor x(DType::int64, {kRows, 3}), y(DType::float32, {kRows, 1});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i * 7 % 11));
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, static_cast<double>(i % 3));
  const auto written = [&](const std::string& name) {
    const std::vector<NamedTensor> arrays{{"x", x}, {"y", y}};
    io::write_tensors(folder / name, arrays);
    return folder / name;
  };
  const std::string data = written("data.npz");
  x.set(x.size() - 1, 1e12);  // not an int32
  const std::string bad = written("bad.npz");
  const auto with = [&](std::vector<std::string> line) {
    for (const char* word : {"--loss", "mse", "--batch-size", "4", "--epochs", "2", "--no-shuffle"})
      line.emplace_back(word);
    return train(line);
  };

  REQUIRE(with({start, "--data", data, "-o", folder / "a.keras", "--dump", folder / "a.npz"}).code == 0);
  const Result failed = with({start, "--data", bad, "-o", folder / "b.keras"});
  CHECK(failed.code == 3);
  CHECK_MESSAGE(contains(failed.err, fmt::format("after step {}: ", steps - 1)), failed.err);
  CHECK(contains(failed.err, "the trained model is in " + folder / "b.keras" + "; resume it with: attn train " +
                                 folder / "b.keras"));
  const Result resumed =
      with({folder / "b.keras", "--data", data, "-o", folder / "b.keras", "--dump", folder / "b.npz", "--resume"});
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(bytes_of(folder / "a.npz") == bytes_of(folder / "b.npz"));

  const Result validated = with({start, "--data", data, "--validation", bad, "-o", folder / "c.keras"});
  CHECK(validated.code == 3);
  CHECK_MESSAGE(contains(validated.err, fmt::format("after step {}: ", steps)), validated.err);
  CHECK(std::filesystem::exists(folder / "c.keras"));
  const Result first = train({start, "--data", bad, "-o", folder / "d.keras", "--loss", "mse", "--batch-size", "100"});
  CHECK(first.code == 3);
  CHECK(!std::filesystem::exists(folder / "d.keras"));
}

TEST_CASE("train: a label outside the classes is reported before the first step, with its row") {
  const TemporaryFolder folder;
  const std::string start = "tests/data/training/loss/top_k/start.keras",
                    data = "tests/data/training/loss/top_k/data.npz";
  const auto labelled = [&](const std::string& name, double label) {
    return changed_data(folder, data, name, [&](NamedTensor& array) {
      if (array.name == "y") array.tensor.set(array.tensor.size() - 1, label);
    });
  };
  const std::int64_t last = io::read_tensors(in_repository(data))[0].tensor.shape()[0] - 1;
  for (const double label : {99.0, -1.0}) {
    const std::string bad = labelled("bad.npz", label);
    for (const char* option : {"--data", "--validation"}) {
      std::vector<std::string> line{start, "-o", folder / "a.keras", "--batch-size", "4", option, bad};
      if (std::string(option) != "--data") line.insert(line.end(), {"--data", data});
      const Result result = train(line);
      CHECK(result.code == 3);
      CHECK_MESSAGE(
          contains(result.err, fmt::format("{}: the array 'y' has the label {} in row {}, which is not one of "
                                           "the",
                                           bad, label, last)),
          result.err);
      CHECK(!contains(result.out, "Epoch"));
      CHECK(!std::filesystem::exists(folder / "a.keras"));
    }
  }
  // Ignored labels may be any number; a regression loss has no classes.
  CHECK(train({"tests/data/training/mask/ignore_class/start.keras", "--data",
               "tests/data/training/mask/ignore_class/data.npz", "-o", folder / "b.keras"})
            .code == 0);
}

TEST_CASE("train: a non-finite step saves the model before it in a separate file") {
  const TemporaryFolder folder;
  const auto with = [&](std::vector<std::string> line) {
    for (const char* word : {"--batch-size", "4", "--no-shuffle", "--epochs", "2"}) line.emplace_back(word);
    return train(line);
  };
  const std::string bad = changed_data(folder, kData, "bad.npz", [](NamedTensor& array) {
    if (array.name == "x") array.tensor.set(array.tensor.size() - 1, std::numeric_limits<double>::infinity());
  });
  REQUIRE(with({kModel, "--data", kData, "-o", folder / "a.keras", "--dump", folder / "a.npz"}).code == 0);

  const Result anew = with({kModel, "--data", bad, "-o", folder / "b.keras"});
  CHECK(anew.code == 1);
  CHECK(contains(anew.err,
                 "step 10 is not finite, first in the array 'x' of the data; the model before this step is in " +
                     folder / "b.keras"));
  const Result resumed =
      with({folder / "b.keras", "--data", kData, "-o", folder / "b.keras", "--resume", "--dump", folder / "b.npz"});
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(bytes_of(folder / "a.npz") == bytes_of(folder / "b.npz"));

  const std::string kept = folder.file("c.keras", "kept");
  const Result beside = with({kModel, "--data", bad, "-o", kept, "--json"});
  CHECK(beside.code == 1);
  CHECK(contains(beside.err, folder / "c.step9.keras" + ", and " + kept + " is unchanged"));
  CHECK(json::parse(beside.out)["file"] == folder / "c.step9.keras");
  CHECK(read_text(kept) == "kept");
  CHECK(std::filesystem::exists(folder / "c.step9.keras"));

  const Result at_once = train({kModel, "--data", bad, "-o", folder / "d.keras", "--batch-size", "100"});
  CHECK(at_once.code == 1);
  CHECK_MESSAGE(contains(at_once.err, "step 1 is not finite"), at_once.err);
  CHECK(contains(at_once.err, "nothing was trained"));
  CHECK(!std::filesystem::exists(folder / "d.keras"));
}

TEST_CASE("train: the curves are written as a picture, and as TensorBoard event files") {
  const TemporaryFolder folder;
  REQUIRE(train({kModel, "--data", kData, "-o", folder / "a.keras", "--batch-size", "8", "--epochs", "2", "--svg",
                 folder / "a.svg", "--tensorboard", folder / "logs", "--validation-split", "0.2"})
              .code == 0);
  CHECK(contains(read_text(folder / "a.svg"), "class=\"validation\""));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "logs"))
    if (contains(entry.path().filename().string(), "events.out.tfevents.")) {
      ++files;
      CHECK(contains(read_text(entry.path().string()), "epoch_loss"));
    }
  CHECK(files == 2);
}

TEST_CASE("train: a layer that training does not support is named in the error") {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& layer) {
    const std::string config = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 4, 3], "name": "x"}}, )" +
                               layer + "]}}";
    const std::vector<NamedTensor> arrays{{"x", Tensor(DType::float32, {2, 4, 4, 3})},
                                          {"y", Tensor(DType::float32, {2, 4, 4, 3})}};
    io::write_tensors(folder / "d.npz", arrays);
    return train({folder.file("m.json", config), "--data", folder / "d.npz", "-o", folder / "a.keras", "--loss", "mse"})
        .err;
  };
  CHECK(contains(error_of(R"({"class_name": "RandomFlip", "config": {"name": "flip", "mode": "horizontal"}})"),
                 "a RandomFlip is not supported in training"));
}

}  // namespace attn::test
