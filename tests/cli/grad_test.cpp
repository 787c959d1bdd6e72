// attn grad: gradients as a table, arrays and a plot, and their check.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kGradModel = "tests/data/training/loss/two_outputs/start.keras";
const std::string kGradData = "tests/data/training/loss/two_outputs/data.npz";

json row_of(const json& report, const std::string& name) {
  for (const json& row : report["gradients"])
    if (row["name"] == name) return row;
  return {};
}

/// Writes the case's arrays, after `change`, to a file.
template <typename Change>
std::string data_with(const TemporaryFolder& folder, const std::string& file, Change change) {
  std::vector<NamedTensor> arrays = io::read_tensors(in_repository(kGradData));
  change(arrays);
  io::write_tensors(folder / file, arrays);
  return folder / file;
}

}  // namespace

TEST_CASE("grad: loss and gradients are those of the compiled model, and --expect agrees with the file of -o") {
  const TemporaryFolder folder;
  const Result result =
      run_attn({"grad", kGradModel, "--data", kGradData, "--batch-size", "4", "-o", folder / "g.npz", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json report = json::parse(result.out);
  CHECK(report["loss"]["name"] == "kind: sparse_categorical_crossentropy, price: huber_loss");
  REQUIRE(report["loss"]["terms"].size() == 2);
  const double kind = report["loss"]["terms"][0]["value"], price = report["loss"]["terms"][1]["value"];
  CHECK(report["loss"]["value"].get<double>() == doctest::Approx(0.3 * price + 2.0 * kind));  // its loss_weights
  CHECK(report["batch"] == 4);
  CHECK(row_of(report, "mha/key")["arrays"] == 2);
  const Result again = run_attn({"grad", kGradModel, "--data", kGradData, "--batch-size", "4", "--backend", "reference",
                                 "--expect", folder / "g.npz"});
  CHECK_MESSAGE(again.code == 0, again.out);
  CHECK(contains(again.out, "Agrees with"));
  const Result other = run_attn({"grad", kGradModel, "--data", kGradData, "--expect", folder / "g.npz"});
  CHECK(other.code == 1);
}

TEST_CASE("grad: notes mark gradients that are zero, undetermined or not reached") {
  const Result result = run_attn({"grad", "tests/data/gradients/mha/self/model.keras", "--by", "weight", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json report = json::parse(result.out);
  CHECK(row_of(report, "multi_head_attention/key/bias")["note"] == "undetermined");
  CHECK(row_of(report, "multi_head_attention/key/kernel")["note"] == nullptr);
  const Result one = run_attn({"grad", kGradModel, "--loss", R"({"price": "mse"})", "--by", "weight", "--json"});
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const json of_price = json::parse(one.out);
  CHECK(row_of(of_price, "kind/kernel")["note"] == "no path");
  CHECK(row_of(of_price, "kind/kernel")["connected"] == 0);
}

TEST_CASE("grad: --loss-output selects the loss of one output") {
  const auto of = [&](const std::vector<std::string>& words) {
    std::vector<std::string> line{"grad", kGradModel, "--data", kGradData, "--by", "weight", "--json"};
    line.insert(line.end(), words.begin(), words.end());
    const Result result = run_attn(line);
    REQUIRE_MESSAGE(result.code == 0, result.err);
    return json::parse(result.out);
  };
  const json both = of({}), one = of({"--loss-output", "price"});
  CHECK(one["loss"]["name"] == "huber_loss");
  CHECK(both["loss"]["terms"][1]["name"] == one["loss"]["terms"][0]["name"]);
  CHECK(both["loss"]["terms"][1]["value"] == one["loss"]["terms"][0]["value"]);
  CHECK(row_of(one, "kind/kernel")["note"] == "no path");
  const Result none = run_attn({"grad", kGradModel, "--loss-output", "prise"});
  CHECK(none.code == 2);
  CHECK_MESSAGE(contains(none.err, "no output 'prise' (did you mean 'price'?)"), none.err);
}

TEST_CASE("grad: the update ratio is the relative change of a weight by one optimizer step") {
  const TemporaryFolder folder;
  const std::string model = "tests/data/training/norm/batch/start.keras",
                    data = "tests/data/training/norm/batch/data.npz";
  const Result result = run_attn({"grad", model, "--data", data, "--by", "weight", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const Result step = run_attn({"train", model, "--data", data, "-o", folder / "a.keras", "--batch-size", "40",
                                "--no-shuffle", "--steps", "1", "--dump", folder / "after.npz"});
  REQUIRE_MESSAGE(step.code == 0, step.err);
  const Result before = run_attn({"train", model, "--data", data, "-o", folder / "b.keras", "--learning-rate", "0",
                                  "--batch-size", "40", "--steps", "1", "--dump", folder / "before.npz"});
  REQUIRE_MESSAGE(before.code == 0, before.err);
  const std::vector<NamedTensor> then = io::read_tensors(folder / "before.npz"),
                                 now = io::read_tensors(folder / "after.npz");
  int rows = 0;
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (!then[i].name.starts_with("weight:")) continue;
    const json row = row_of(json::parse(result.out), then[i].name.substr(std::string("weight:").size()));
    if (row.is_null()) continue;  // moving statistics
    ++rows;
    double moved = 0.0, size = 0.0;
    for (std::int64_t k = 0; k < then[i].tensor.size(); ++k) {
      moved += std::pow(now[i].tensor.at(k) - then[i].tensor.at(k), 2.0);
      size += std::pow(then[i].tensor.at(k), 2.0);
    }
    if (size == 0.0) {
      CHECK(row["update_ratio"].is_null());
    } else {
      CHECK(row["update_ratio"].get<double>() == doctest::Approx(std::sqrt(moved / size)).epsilon(1e-4));
    }
  }
  CHECK(rows > 3);
  CHECK(contains(run_attn({"grad", model, "--data", data}).out, "Update/weight"));
  CHECK(contains(run_attn({"grad", model, "--data", data, "--no-training"}).out, "Grad/weight"));
}

TEST_CASE("grad: --check compares gradients with central differences") {
  const Result result =
      run_attn({"grad", "tests/data/training/norm/batch/start.keras", "--check", "--directions", "1", "--json"});
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const json check = json::parse(result.out)["check"];
  CHECK(check["pass"] == true);
  CHECK(check["rows"].size() == 9);
}

TEST_CASE("grad: --svg draws a bar for each row") {
  const TemporaryFolder folder;
  REQUIRE(run_attn({"grad", kGradModel, "--svg", folder / "g.svg"}).code == 0);
  const std::string svg = read_text(folder / "g.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(contains(svg, "mha/attention_output"));
}

TEST_CASE("grad: mismatched data is rejected in one sentence") {
  const TemporaryFolder folder;
  const auto error = [](std::vector<std::string> line) {
    line.insert(line.begin(), "grad");
    const Result result = run_attn(line);
    CHECK(result.code == 3);
    CHECK(result.out.empty());
    return result.err;
  };
  const std::string rows = data_with(folder, "rows.npz", [](auto& arrays) {
    arrays.push_back({"sample_weight:kind", Tensor(DType::float32, {3})});
  });
  CHECK(contains(error({kGradModel, "--data", rows}), "the array 'x' has 40 rows, and 'sample_weight:kind' has 3"));
  const std::string unknown = data_with(folder, "unknown.npz", [](auto& arrays) { arrays.front().name = "xx"; });
  CHECK(
      contains(error({kGradModel, "--data", unknown}), "the array 'xx' is neither an input of the model nor a target"));
  const std::string wide = data_with(folder, "wide.npz", [](auto& arrays) {
    for (NamedTensor& array : arrays)
      if (array.name == "y:price") array.tensor = Tensor(DType::float32, {40, 2});
  });
  CHECK(contains(error({kGradModel, "--data", wide}),
                 "the targets 'y:price' (40, 2) do not fit the output 'price' (40, 1)"));
  const std::string label = data_with(folder, "label.npz", [](auto& arrays) {
    for (NamedTensor& array : arrays)
      if (array.name == "y:kind") array.tensor.set(2, 9);
  });
  CHECK(contains(error({kGradModel, "--data", label}), "9"));
  CHECK(contains(error({kGradModel, "--loss", "mean_squared_eror"}),
                 "the loss 'mean_squared_eror' is not known (did you mean 'mean_squared_error'?)"));
}

TEST_CASE("grad: non-finite values exit with code 1 and name the layer") {
  const TemporaryFolder folder;
  const std::string data = data_with(folder, "nan.npz", [](auto& arrays) {
    for (NamedTensor& array : arrays)
      if (array.name == "x") array.tensor.set(0, std::numeric_limits<double>::quiet_NaN());
  });
  const Result result = run_attn({"grad", kGradModel, "--data", data, "--batch-size", "4"});
  CHECK(result.code == 1);
  CHECK(contains(result.err, "contains NaN or Inf"));
  CHECK(contains(result.out, "not finite"));
}

}  // namespace attn::test
