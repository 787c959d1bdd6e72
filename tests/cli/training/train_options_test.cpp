// attn train: options of fit() and compile(), locations of checkpoints, and checks before a training.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "../../places.h"
#include "../../text.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "attn/io/tensor_file.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kBatchModel = "tests/data/training/norm/batch/start.keras";
const std::string kBatchData = "tests/data/training/norm/batch/data.npz";  // 40 rows
const std::string kTwoModel = "tests/data/training/loss/two_outputs/start.keras";
const std::string kTwoData = "tests/data/training/loss/two_outputs/data.npz";

Words extended(Words line, const Words& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

Result train_with(const Words& line) { return run_attn(extended({"train"}, line)); }

/// Trains, and returns the arrays of --dump as bytes by name.
std::map<std::string, std::string> dump_of(const TemporaryFolder& folder, const Words& line) {
  const Result result = train_with(extended(line, {"-o", folder / "dump_of.keras", "--dump", folder / "dump_of.npz"}));
  REQUIRE_MESSAGE(result.code == 0, result.err);
  std::map<std::string, std::string> out;
  for (const NamedTensor& array : io::read_tensors(folder / "dump_of.npz"))
    out[array.name] =
        std::string(reinterpret_cast<const char*>(array.tensor.data()), static_cast<std::size_t>(array.tensor.bytes()));
  return out;
}

/// The events of one kind in a log.
std::vector<json> events_in(const std::string& log, const std::string& kind) {
  std::istringstream lines(read_text(log));
  std::vector<json> out;
  for (std::string line; std::getline(lines, line);)
    if (json event = json::parse(line); event["event"] == kind) out.push_back(std::move(event));
  return out;
}

json compile_config_in(const std::string& archive) {
  return json::parse(io::parse_keras_archive(io::read_file(archive), archive).config)["compile_config"];
}

void expect_refusal(const Words& line, int code, const std::string& why) {
  const Result result = train_with(line);
  CHECK_MESSAGE(result.code == code, result.err);
  CHECK_MESSAGE(contains(result.err, why), result.err);
}

}  // namespace

TEST_CASE("train: epochs of --steps-per-epoch read the data consecutively, and a resume continues in one") {
  const TemporaryFolder folder;
  const Words data{"--data", kBatchData, "--batch-size", "16"};  // 3 batches
  const Words short_epochs = extended(data, {"--epochs", "4", "--steps-per-epoch", "2"});
  const auto whole = dump_of(folder, extended({kBatchModel, "--epochs", "2"}, data));
  CHECK(dump_of(folder, extended({kBatchModel, "--log", folder / "log.jsonl"}, short_epochs)) == whole);
  std::vector<std::int64_t> epochs;
  for (const json& step : events_in(folder / "log.jsonl", "step")) epochs.push_back(step["epoch"]);
  CHECK(epochs == std::vector<std::int64_t>{1, 1, 2, 3, 3, 4});

  REQUIRE(train_with(extended({kBatchModel, "-o", folder / "a.keras", "--steps", "4"}, short_epochs)).code == 0);
  CHECK(dump_of(folder, extended({folder / "a.keras", "--resume"}, short_epochs)) == whole);
  expect_refusal(extended({folder / "a.keras", "-o", folder / "a.keras", "--resume"}, data), 2,
                 "the training is with --steps-per-epoch 2");
  const Result longer =
      train_with(extended({kBatchModel, "-o", folder / "b.keras", "--steps-per-epoch", "9", "--json"}, data));
  CHECK(contains(longer.err, "--steps-per-epoch 9: the data has only 3 batches"));
  CHECK(json::parse(longer.out)["steps"] == 3);
}

TEST_CASE("train: --loss-weights weight the outputs, and the file keeps them in Keras's format") {
  const TemporaryFolder folder;
  const auto history = [&](const std::string& weights) {
    const Result result = train_with({kTwoModel, "--data", kTwoData, "-o", folder / "a.keras", "--batch-size", "40",
                                      "--no-shuffle", "--loss-weights", weights, "--json"});
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return json::parse(result.out)["history"];
  };
  const auto value = [](const json& told, const char* name) { return told[name][0].get<double>(); };
  const json none = history("0,0"), both = history("2,0.25");
  CHECK(value(both, "loss") ==
        doctest::Approx(value(none, "loss") + 2.0 * value(both, "kind_loss") + 0.25 * value(both, "price_loss")));
  CHECK(compile_config_in(folder / "a.keras")["loss_weights"] == json::parse("[2.0, 0.25]"));
  CHECK(history(R"({"price": 0.25, "kind": 2})") == both);
  const Words line{kTwoModel, "--data", kTwoData, "-o", folder / "b.keras", "--loss-weights"};
  expect_refusal(extended(line, {"1,x"}), 2, "--loss-weights '1,x': expected a number for each output");
  expect_refusal(extended(line, {"1,2,3"}), 3, "3 weights for 2 outputs");
  expect_refusal(extended(line, {R"({"prise": 1})"}), 3, "did you mean 'price'?");
}

TEST_CASE("train: --x, --y and --sample-weight take one array each, with or without the name of an input or output") {
  const TemporaryFolder folder;
  Tensor weights(DType::float32, {40, 5});
  for (std::int64_t i = 0; i < weights.size(); ++i) weights.set(i, 0.5 + static_cast<double>(i % 3));
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(kBatchData));
  for (const NamedTensor& array : arrays) io::write_tensors(folder / (array.name + ".npy"), {&array, 1});
  const NamedTensor weight{"sample_weight", weights};
  io::write_tensors(folder / "weights.npy", {&weight, 1});
  arrays.push_back(weight);
  io::write_tensors(folder / "all.npz", arrays);
  const auto whole = dump_of(folder, {kBatchModel, "--data", folder / "all.npz"});
  const Words y{"--y", folder / "y.npy", "--sample-weight", folder / "weights.npy"};
  CHECK(dump_of(folder, extended({kBatchModel, "--x", folder / "x.npy"}, y)) == whole);
  CHECK(dump_of(folder, extended({kBatchModel, "--x", "x=" + folder / "all.npz"}, y)) == whole);

  for (const NamedTensor& array : io::read_tensors(in_repository(kTwoData)))
    io::write_tensors(folder / (array.name.substr(array.name.find(':') + 1) + ".npy"), {&array, 1});
  CHECK(dump_of(folder, {kTwoModel, "--x", folder / "x.npy", "--y", "kind=" + folder / "kind.npy", "--y",
                         "price=" + folder / "price.npy"}) == dump_of(folder, {kTwoModel, "--data", kTwoData}));

  const Words out{kBatchModel, "-o", folder / "a.keras"};
  expect_refusal(out, 2, "no data: give --data FILE, or --x FILE and --y FILE");
  expect_refusal(extended(out, {"--data", folder / "all.npz", "--y", folder / "y.npy"}), 3, "rows, and '");
  expect_refusal(extended(out, {"--x", folder / "all.npz", "--y", "z=" + folder / "y.npy"}), 3, "'y:z'");
  expect_refusal(extended(out, {"--data", kBatchData, "--sample-weight", kTwoData}), 3,
                 "contains 3 arrays, none of them named 'sample_weight'");
  const std::string two_inputs = "tests/data/training/model/encoder_decoder/start.keras";
  expect_refusal({two_inputs, "-o", folder / "a.keras", "--x", folder / "x.npy"}, 2,
                 "the input is not given; --x NAME=FILE names one of");
}

/// The rows `from` … `to` of an array.
NamedTensor rows_of(const NamedTensor& array, std::int64_t from, std::int64_t to) {
  Shape shape = array.tensor.shape();
  const std::int64_t bytes = array.tensor.bytes() / shape[0];
  shape[0] = to - from;
  return {array.name, Tensor(array.tensor.dtype(), shape,
                             std::shared_ptr<std::byte>(array.tensor.owner(), array.tensor.data() + from * bytes))};
}

TEST_CASE("train: an array may be split over several files") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> first, second;
  for (const NamedTensor& array : io::read_tensors(in_repository(kBatchData))) {
    const std::int64_t rows = array.tensor.shape()[0];
    first.push_back(rows_of(array, 0, 15));
    second.push_back(rows_of(array, 15, rows));
  }
  io::write_tensors(folder / "first.npz", first);
  io::write_tensors(folder / "second.safetensors", second);
  CHECK(dump_of(folder, {kBatchModel, "--data", folder / "first.npz", "--data", folder / "second.safetensors"}) ==
        dump_of(folder, {kBatchModel, "--data", kBatchData}));

  const Tensor narrow(DType::float32, {4, 1});
  const std::vector<NamedTensor> other{{"y", narrow}};
  io::write_tensors(folder / "other.npz", other);
  expect_refusal({kBatchModel, "-o", folder / "a.keras", "--data", kBatchData, "--data", folder / "other.npz"}, 3,
                 "the array 'y' is float32 (4, 1), and cannot continue that of");
}

TEST_CASE("train: a table of numbers is data, with columns by name, by --csv-target and in order") {
  const TemporaryFolder folder;
  const std::string model =
      folder.file("model.json", R"({"class_name": "Sequential", "config": {"name": "line", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "x"}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 1}}]}})");
  const Tensor x(DType::float32, {3, 2}), y(DType::float32, {3});
  const std::vector<double> numbers{1, 2, 3, -4, 0.5, 6}, targets{0.5, -1.25, 2};
  for (std::int64_t i = 0; i < 6; ++i) x.set(i, numbers[static_cast<std::size_t>(i)]);
  for (std::int64_t i = 0; i < 3; ++i) y.set(i, targets[static_cast<std::size_t>(i)]);
  const std::vector<NamedTensor> arrays{{"x", x}, {"y", y}};
  io::write_tensors(folder / "data.npz", arrays);
  const std::string named = folder.file("named.csv", "a,y,b\n1,0.5,2\n3,-1.25,-4\n.5,2,6\n");
  const std::string plain = folder.file("plain.csv", "1,2,0.5\n3,-4,-1.25\n.5,6,2\n");
  const std::string xs = folder.file("x.csv", "1,2\n3,-4\n.5,6\n");
  const std::string ys = folder.file("y.csv", "0.5\n-1.25\n2\n");

  const Words line{model, "--optimizer", "sgd", "--loss", "mse"};
  const auto expected = dump_of(folder, extended(line, {"--data", folder / "data.npz"}));
  CHECK(dump_of(folder, extended(line, {"--data", named})) == expected);
  CHECK(dump_of(folder, extended(line, {"--data", named, "--csv-target", "y"})) == expected);
  CHECK(dump_of(folder, extended(line, {"--data", plain, "--csv-target", "2"})) == expected);
  CHECK(dump_of(folder, extended(line, {"--x", xs, "--y", ys})) == expected);

  const Words out = extended(line, {"-o", folder / "a.keras", "--data"});
  expect_refusal(extended(out, {plain}), 3,
                 "3 columns of numbers for the input 'x', which takes 2; give the target with --csv-target COLUMN");
  expect_refusal(extended(out, {named, "--csv-target", "aa"}), 2, "has no such column (did you mean 'a'?)");
  expect_refusal(extended(out, {plain, "--csv-target", "3"}), 2, "they are 0 to 2");
  const std::string with_empty_cell = folder.file("empty_cell.csv", "a,b,y\n1,,2\n");
  expect_refusal(extended(out, {with_empty_cell}), 3, "line 2, column 'b': '' is not a finite number");
}

TEST_CASE("train: --warmup-steps and --decay set a Keras schedule over all steps of the training") {
  const TemporaryFolder folder;
  const Words common{kBatchModel, "--data",   kBatchData, "-o",    folder / "a.keras",   "--batch-size",
                     "8",         "--epochs", "2",        "--log", folder / "log.jsonl", "--learning-rate",
                     "0.5"};
  const auto rates = [&](const Words& words) {
    const Result result = train_with(extended(common, words));
    REQUIRE_MESSAGE(result.code == 0, result.err);
    std::vector<double> out;
    for (const json& step : events_in(folder / "log.jsonl", "step")) out.push_back(step["learning_rate"]);
    REQUIRE(out.size() == 10);
    return out;
  };
  const auto schedule = [&] { return compile_config_in(folder / "a.keras")["optimizer"]["config"]["learning_rate"]; };
  const auto warm = rates({"--warmup-steps", "4", "--decay", "cosine"});
  CHECK(schedule()["class_name"] == "CosineDecay");
  CHECK(schedule()["module"] == "keras.optimizers.schedules");
  const auto flat = rates({"--warmup-steps", "4"}), line = rates({"--decay", "linear"});
  CHECK(schedule()["class_name"] == "PolynomialDecay");
  const auto cosine = rates({"--decay", "cosine"});
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    const auto at = static_cast<std::size_t>(i);
    const auto fallen = [](double share) { return 0.25 * (1.0 + std::cos(std::numbers::pi * share)); };
    CHECK(warm[at] == doctest::Approx(i < 4 ? 0.125 * i : fallen((i - 4) / 6.0)).epsilon(1e-5));
    CHECK(flat[at] == doctest::Approx(i < 4 ? 0.125 * i : 0.5).epsilon(1e-5));
    CHECK(line[at] == doctest::Approx(0.5 * (1.0 - i / 10.0)).epsilon(1e-5));
    CHECK(cosine[at] == doctest::Approx(fallen(i / 10.0)).epsilon(1e-5));
  }
  expect_refusal(extended(common, {"--warmup-steps", "10"}), 2, "the training has only 10 steps in total");
  expect_refusal({kBatchModel, "--data", kBatchData, "-o", folder / "b.keras", "--decay", "cosine", "--drop-remainder",
                  "--batch-size", "64"},
                 2, "the training has no step");
  expect_refusal(extended(common, {"--warmup-steps", "2", "--decay", "linear"}), 2, "Keras has no such schedule");
  expect_refusal(extended(common, {"--decay", "cosine", "--reduce-lr", "patience=1"}), 2,
                 "--reduce-lr cannot be combined with a schedule");
  expect_refusal({folder / "a.keras", "--data", kBatchData, "-o", folder / "b.keras", "--decay", "cosine"}, 2,
                 "the model's optimizer already has a learning rate schedule");
}

TEST_CASE("train: --learning-rate accepts a schedule in Keras's format, and the file keeps it") {
  const TemporaryFolder folder;
  const Words common{kBatchModel, "--data", kBatchData, "-o", folder / "a.keras", "--batch-size", "8"};
  const std::string schedule =
      R"({"class_name": "ExponentialDecay", "config": {"initial_learning_rate": 0.5, "decay_steps": 1, "decay_rate": 0.5}})";
  const Result result = train_with(extended(common, {"--learning-rate", schedule, "--log", folder / "log.jsonl"}));
  REQUIRE_MESSAGE(result.code == 0, result.err);
  double rate = 0.5;
  for (const json& step : events_in(folder / "log.jsonl", "step")) {
    CHECK(step["learning_rate"] == doctest::Approx(rate));
    rate /= 2.0;
  }
  CHECK(rate == doctest::Approx(0.5 / 32.0));  // 5 steps
  json kept = json::parse(schedule);
  kept["module"] = "keras.optimizers.schedules";  // Keras needs it to find the class
  CHECK(compile_config_in(folder / "a.keras")["optimizer"]["config"]["learning_rate"] == kept);
  expect_refusal(extended(common, {"--learning-rate", "fast"}), 2,
                 "--learning-rate 'fast': expected a non-negative number");
  expect_refusal(extended(common, {"--learning-rate", "-1"}), 2,
                 "--learning-rate '-1': expected a non-negative number");
  expect_refusal(extended(common, {"--learning-rate", R"({"class_name": "CosinDecay", "config": {}})"}), 3,
                 "did you mean 'CosineDecay'?");
  expect_refusal(extended(common, {"--learning-rate", schedule, "--reduce-lr", "patience=1"}), 2,
                 "--reduce-lr cannot be combined with a schedule");
  expect_refusal(extended(common, {"--learning-rate", schedule, "--decay", "cosine"}), 2,
                 "already has a learning rate schedule");
}

TEST_CASE("train: --loss-scale scales by a number, as LossScaleOptimizer, or not at all, also after a resume") {
  const TemporaryFolder folder;
  const std::string model = "tests/data/training/mixed/float16/start.keras",
                    data = "tests/data/training/mixed/float16/data.npz";
  const Words line{model, "--data", data, "-o", folder / "a.keras", "--batch-size", "4", "--log", folder / "log.jsonl"};
  const auto scale = [&](const Words& words) {
    const Result result = train_with(extended(line, words));
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return events_in(folder / "log.jsonl", "step").back()["loss_scale"].get<double>();
  };
  const auto optimizer = [&] { return compile_config_in(folder / "a.keras")["optimizer"]; };
  CHECK(scale({}) == 32768.0);
  CHECK(scale({"--loss-scale", "none"}) == 1.0);
  CHECK(scale({"--loss-scale", "dynamic"}) == 32768.0);
  CHECK(optimizer()["class_name"] == "LossScaleOptimizer");
  CHECK(scale({"--loss-scale", "1024"}) == 1024.0);
  CHECK(optimizer()["config"]["loss_scale_factor"] == 1024.0);
  const Words more{folder / "a.keras",  "--data", data, "-o", folder / "b.keras", "--batch-size", "4", "--log",
                   folder / "log.jsonl"};
  REQUIRE(train_with(extended(more, {"--epochs", "2", "--resume"})).code == 0);
  CHECK(events_in(folder / "log.jsonl", "step").back()["loss_scale"] == 1024.0);
  expect_refusal(extended(more, {"--resume", "--loss-scale", "2"}), 2, "which has another --loss-scale");
  expect_refusal(extended(line, {"--loss-scale", "0"}), 2, "--loss-scale '0': expected dynamic, none, or a number");
}

TEST_CASE("train: loss scaling keeps the weights' updates if nothing underflows") {
  const TemporaryFolder folder;
  const Words line{kBatchModel, "--data", kBatchData, "--batch-size", "8", "--optimizer", "sgd"};
  const auto plain = dump_of(folder, line);
  const auto times = [&](const std::string& how) {
    auto out = dump_of(folder, extended(line, {"--loss-scale", how}));
    return std::map<std::string, std::string>(out.lower_bound("weight:"), out.end());
  };
  const std::map<std::string, std::string> weights(plain.lower_bound("weight:"), plain.end());
  CHECK(times("4096") == weights);  // a power of two does not round
  CHECK(times("dynamic") == weights);
}

TEST_CASE("train: an index outside a table is reported before the first step") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository("tests/data/training/embedding/adam/data.npz"));
  for (NamedTensor& array : arrays)
    if (is_integer(array.tensor.dtype()) && array.name != "y") array.tensor.set(array.tensor.size() - 1, 5000.0);
  io::write_tensors(folder / "bad.npz", arrays);
  expect_refusal({"tests/data/training/embedding/adam/start.keras", "--data", folder / "bad.npz", "-o",
                  folder / "a.keras", "--batch-size", "1"},
                 3, "has the index 5000 in row ");
}

TEST_CASE("train: --keep keeps the last checkpoints beside the model, and each can be resumed") {
  const TemporaryFolder folder, kept;
  const Words common{"--data", kBatchData, "--batch-size", "8", "--epochs", "2"};  // 10 steps
  const auto whole = dump_of(folder, extended({kBatchModel}, common));
  const Words saving = extended(common, {"--save-every", "2steps", "--keep", "2"});
  REQUIRE(train_with(extended({kBatchModel, "-o", kept / "a.keras", "--steps", "7"}, saving)).code == 0);
  CHECK(kept.names() == Words{"a.keras", "a.step4.keras", "a.step6.keras"});
  CHECK(dump_of(folder, extended({kept / "a.step4.keras", "--resume"}, common)) == whole);
  REQUIRE(train_with(extended({kept / "a.keras", "-o", kept / "a.keras", "--resume"}, saving)).code == 0);
  CHECK(kept.names() == Words{"a.keras", "a.step10.keras", "a.step8.keras"});
  expect_refusal(extended({kBatchModel, "-o", kept / "a.keras", "--keep", "2"}, common), 2,
                 "--keep requires --save-every");
}

TEST_CASE("train: --plan reports memory, steps and time without training") {
  const TemporaryFolder folder;
  const Words line{kBatchModel, "--data", kBatchData, "--batch-size", "16", "--epochs", "5", "--plan"};
  const Result result = train_with(extended(line, {"--json"}));
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json report = json::parse(result.out);
  CHECK(report["end"] == "plan");
  CHECK(report["steps"] == 0);
  CHECK(report["plan"]["steps"] == 15);
  CHECK(report["plan"]["steps_per_epoch"] == 3);
  CHECK(report["plan"]["bytes"] > 0);
  const Result text = train_with(extended(line, {"-o", folder / "a.keras"}));
  CHECK_MESSAGE(contains(text.out, " of memory; 15 steps, 3 in an epoch, "), text.out);
  CHECK(folder.names().empty());
  expect_refusal(extended(line, {"--svg", folder / "a.svg"}), 2, "--plan does not train");
  CHECK(train_with(extended(line, {"--mem-limit", "1MB"})).code == 4);
}

TEST_CASE("train: --overfit checks whether the first batch can be learned, and exits with code 1 if not") {
  const TemporaryFolder folder;
  const Words line{"tests/data/training/loss/top_k/start.keras",
                   "--data",
                   "tests/data/training/loss/top_k/data.npz",
                   "--batch-size",
                   "4",
                   "--optimizer",
                   "adam",
                   "--learning-rate",
                   "0.03",
                   "--no-dropout",
                   "--json"};
  const Result learned = train_with(extended(line, {"--overfit", "300", "-o", folder / "a.keras"}));
  CHECK_MESSAGE(learned.code == 0, learned.err);
  const json report = json::parse(learned.out);
  CHECK(report["learned"] == true);
  CHECK(report["rows"] == 4);
  CHECK(report["history"]["loss"].size() == 300);
  CHECK(folder.names().empty());
  const Result not_learned = train_with(extended(line, {"--overfit", "2"}));
  CHECK(not_learned.code == 1);
  CHECK(json::parse(not_learned.out)["learned"] == false);
  CHECK(contains(not_learned.err, "it has not fallen to a tenth"));
  expect_refusal(extended(line, {"--overfit", "2", "--steps", "3"}), 2, "cannot be combined with --steps");
}

TEST_CASE("train: --expect-loss compares losses with a log or with the file of Keras's CSVLogger") {
  const TemporaryFolder folder;
  const Words line{kBatchModel, "--data", kBatchData, "-o", folder / "a.keras", "--batch-size", "8", "--epochs", "2"};
  REQUIRE(train_with(extended(line, {"--log", folder / "log.jsonl", "--csv", folder / "log.csv"})).code == 0);
  for (const std::string name : {"log.jsonl", "log.csv"}) {
    CAPTURE(name);
    const Words expecting = extended(line, {"--expect-loss", folder / name});
    CHECK(train_with(expecting).code == 0);
    const Result other = train_with(extended(expecting, {"--learning-rate", "0.2"}));
    CHECK(other.code == 1);
    CHECK_MESSAGE(contains(other.err, "losses differ; "), other.err);
    CHECK(train_with(extended(expecting, {"--learning-rate", "0.2", "--atol", "1e9"})).code == 0);
  }
  expect_refusal(extended(line, {"--expect-loss", folder.file("none.csv", "epoch,mae\n0,1\n")}), 3, "no losses found");
  expect_refusal(extended(line, {"--expect-loss", folder.file("late.csv", "epoch,loss\n7,1\n")}), 3,
                 "no loss is of a step or epoch of this training");
  expect_refusal(extended(line, {"--rtol", "1"}), 2, "--rtol and --atol require --expect-loss");
}

TEST_CASE("train: a number that a training cannot hold is refused with its option, before any step") {
  const TemporaryFolder folder;
  struct Case {
    Words words;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"--time-limit", "99999999999999h"}, "--time-limit '99999999999999h': expected a time up to 100000h"},
      {{"--batch-size", "9223372036854775807"}, "--batch-size 9223372036854775807: expected at most 2^53"},
      {{"--steps-per-epoch", "9223372036854775807"}, "--steps-per-epoch"},
      {{"--learning-rate", "1e39"}, "--learning-rate '1e39': expected a non-negative number of float32"},
      {{"--loss-scale", "1e39"}, "--loss-scale '1e39': expected dynamic, none, or a number of float32 above 0"},
      {{"--weight-decay", "1e39"}, "--weight-decay 1e+39: expected a number that float32 holds"},
      {{"--class-weight", R"({"0": 1e39})"}, "--class-weight: expected an object of numbers by class"},
  };
  for (const Case& one : cases) {
    expect_refusal(extended({kBatchModel, "--data", kBatchData, "-o", folder / "out.keras"}, one.words), 2, one.says);
    CHECK(!std::filesystem::exists(folder / "out.keras"));
  }
}

TEST_CASE("train: validation data is judged before the first step, under its own name") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> all = io::read_tensors(in_repository(kBatchData));
  std::vector<NamedTensor> inputs, empty;
  for (const NamedTensor& array : all) {
    if (!array.name.starts_with("y")) inputs.push_back(array);
    Shape shape = array.tensor.shape();
    shape[0] = 0;
    empty.push_back({array.name, Tensor(array.tensor.dtype(), shape)});
  }
  io::write_tensors(folder / "inputs.npz", inputs);
  io::write_tensors(folder / "empty.npz", empty);
  for (const auto& [file, says] : {std::pair("inputs.npz", "inputs.npz: the data has no targets 'y'"),
                                   {"empty.npz", "empty.npz: the validation data has no rows"}}) {
    expect_refusal({kBatchModel, "--data", kBatchData, "--validation", folder / file, "-o", folder / "out.keras"}, 3,
                   says);
    CHECK(!std::filesystem::exists(folder / "out.keras"));
  }
}

TEST_CASE("train: --lora requires a rank and a finite alpha") {
  const Words line{kBatchModel, "--data", kBatchData};
  for (const std::string word : {"0", "-1", "2,", "2,x", "2,nan", "2,inf", "2,1e999", "99999999999999999999"})
    expect_refusal(extended(line, {"--lora", word}), 2, "expected a rank, as in 8, or a rank and lora_alpha");
}

TEST_CASE("train: --lora-output writes only the low-rank weights") {
  const TemporaryFolder folder;
  const Words line{kBatchModel, "--data", kBatchData, "--lora-output", folder / "lora.npz"};
  const auto dump = dump_of(folder, extended(line, {"--lora", "2"}));
  const std::vector<NamedTensor> factors = io::read_tensors(folder / "lora.npz");
  CHECK(!factors.empty());
  for (const NamedTensor& factor : factors) {
    CAPTURE(factor.name);
    CHECK(contains(factor.name, "/lora_"));
    const std::string& bytes = dump.at("weight:" + factor.name);
    CHECK(std::equal(bytes.begin(), bytes.end(), reinterpret_cast<const char*>(factor.tensor.data())));
  }
  expect_refusal(extended(line, {"-o", folder / "a.keras"}), 2, "no layer has a LoRA adapter");
}

TEST_CASE("train: --shuffle block:N keeps blocks of rows together, for blocks of one row up to all") {
  const TemporaryFolder folder;
  const Words line{kBatchModel, "--data", kBatchData, "--batch-size", "8"};
  const auto rows = dump_of(folder, line);
  const auto with = [&](const std::string& how) { return dump_of(folder, extended(line, {"--shuffle", how})); };
  CHECK(with("rows") == rows);
  CHECK(with("block:1") == rows);
  CHECK(with("block:4000") == rows);
  CHECK(with("block:7") != rows);
  const Words out = extended(line, {"-o", folder / "a.keras"});
  expect_refusal(extended(out, {"--shuffle", "block:0"}), 2, "--shuffle 'block:0': expected rows, or block:N");
  expect_refusal(extended(out, {"--shuffle", "block:2", "--no-shuffle"}), 2,
                 "--shuffle and --no-shuffle exclude each other");
  REQUIRE(train_with(extended(out, {"--shuffle", "block:7", "--steps", "2"})).code == 0);
  expect_refusal(
      extended({folder / "a.keras", "--data", kBatchData, "--batch-size", "8", "-o", folder / "b.keras"}, {"--resume"}),
      2, "the training has a --shuffle block:7");
}

}  // namespace attn::test
