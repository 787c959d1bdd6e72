// attn train: files in and out, resuming, and what does not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
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

Result train(std::vector<std::string> line) {
  line.insert(line.begin(), "train");
  return run_attn(line);
}

}  // namespace

TEST_CASE("train: steps, a stop and a resume give the bits of one run, whatever the threads") {
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

TEST_CASE("train: without --resume the weights and the optimizer go on, and the epochs begin again") {
  const TemporaryFolder folder;
  REQUIRE(train({kModel, "--data", kData, "-o", folder / "a.keras", "--batch-size", "4"}).code == 0);
  const Result again = train(
      {folder / "a.keras", "--data", kData, "-o", folder / "a.keras", "--batch-size", "4", "--dump", folder / "a.npz"});
  REQUIRE_MESSAGE(again.code == 0, again.err);
  for (const NamedTensor& array : io::read_tensors(folder / "a.npz"))
    if (array.name == "optimizer:0") CHECK(array.tensor.at(0) == 20.0);  // 40 rows, twice
}

TEST_CASE("train: the log has an event in each line, and --json the history of the epochs") {
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
  for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line)["event"]);
  CHECK(events == std::vector<std::string>{"start", "step", "step", "epoch", "step", "step", "epoch", "end"});
}

TEST_CASE("train: a loss that is not finite ends with 1 and leaves the file as it was") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(kData));
  for (NamedTensor& array : arrays)
    if (array.name == "x") array.tensor.set(array.tensor.size() - 1, std::numeric_limits<double>::infinity());
  io::write_tensors(folder / "bad.npz", arrays);
  const std::string kept = folder.file("a.keras", "kept");
  const Result result = train({kModel, "--data", folder / "bad.npz", "-o", kept, "--no-shuffle"});
  CHECK(result.code == 1);
  CHECK(contains(result.err, "the loss of step 2 is not finite"));
  CHECK(read_text(kept) == "kept");
}

TEST_CASE("train: what does not fit is told in one sentence") {
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
                 "the model was never compiled: say --loss"));
  CHECK(contains(error({kModel, "--data", kData, "-o", folder / "a.npz"}, 2), "the trained model is a .keras"));
  CHECK(contains(error({kModel, "--data", kData, "-o", out, "--optimizer", "adan"}, 3),
                 "the optimizer 'adan' is not known (did you mean 'Adam'?)"));
  CHECK(contains(error({kModel, "--data", kData, "-o", out, "--resume"}, 3), "attn did not train it"));
  CHECK(contains(error({"tests/data/training/loss/two_outputs/start.keras", "--data", kData, "-o", out}, 3),
                 "the input 'x' has the shape (None, 6, 8), the array given for it has"));
}

}  // namespace attn::test
