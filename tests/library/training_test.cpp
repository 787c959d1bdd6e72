// Training through attn/attn.h.
#include "support.h"

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* kSmall = R"({"name": "small", "input_shape": [3, 4], "num_layers": 1, "num_heads": 2,
  "key_dim": 2, "intermediate_dim": 8, "units": 2})";

/// Inputs of so many rows, and targets that are their sums in two halves.
std::map<std::string, Tensor> data_of(const Model& model, std::int64_t rows) {
  Tensor x(DType::float32, {rows, 3, 4}), y(DType::float32, {rows, 3, 2});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, std::sin(static_cast<double>(i)));
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, x.at(2 * i) + x.at(2 * i + 1));
  return {{model.input_names().front(), x}, {"y", y}};
}

TrainOptions options_of(std::int64_t epochs) {
  TrainOptions options;
  options.loss = "mean_squared_error";
  options.optimizer = "adam";
  options.learning_rate = 0.01;
  options.epochs = epochs;
  options.batch_size = 4;
  return options;
}

}  // namespace

TEST_CASE("Trainer: a loss falls, and the history has a value for each epoch") {
  const Model model = Model::parse("small.json", kSmall);
  const auto data = data_of(model, 8);
  Trainer trainer = model.trainer(data, options_of(20), data_of(model, 4));
  const double before = trainer.evaluate(data).at("loss");
  const History history = trainer.fit();
  CHECK(history.epochs == 20);
  CHECK(history.steps == 40);
  CHECK(history.end == "epochs");
  REQUIRE(history.values.at("loss").size() == 20);
  CHECK(history.values.at("val_loss").size() == 20);
  CHECK(history.values.at("loss").back() < history.values.at("loss").front());
  CHECK(trainer.evaluate(data).at("loss") < before);
}

TEST_CASE("Trainer: the same seed gives the same weights, and the saved archive runs with them") {
  const Model model = Model::parse("small.json", kSmall);
  const auto data = data_of(model, 8);
  Trainer first = model.trainer(data, options_of(2)), second = model.trainer(data, options_of(2));
  (void)first.fit();
  (void)second.fit();
  const std::vector<NamedTensor> a = first.weights(), b = second.weights();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(relative_difference(a[i].tensor, b[i].tensor) == 0);
  }
  const TemporaryFolder folder;
  const std::string file = folder / "trained.keras";
  first.save(file);
  RunOptions run;
  run.batch = 8;
  Runner runner = Model::open(file).prepare(run);
  const std::string input = model.input_names().front();
  const Tensor output = runner.run({{input, data.at(input)}}).front().tensor;
  double loss = 0;
  for (std::int64_t i = 0; i < output.size(); ++i) loss += std::pow(output.at(i) - data.at("y").at(i), 2);
  loss /= static_cast<double>(output.size());
  CHECK(first.evaluate(data).at("loss") == doctest::Approx(loss).epsilon(1e-4));
}

TEST_CASE("Trainer: data that does not fit the model is an error that names the array") {
  const Model model = Model::parse("small.json", kSmall);
  auto data = data_of(model, 8);
  CHECK_THROWS_WITH_AS((void)model.trainer({{"z", data.at("y")}}, options_of(1)), doctest::Contains("'z'"), Error);
  data.at("y") = Tensor(DType::float32, {7, 3, 2});
  CHECK_THROWS_WITH_AS((void)model.trainer(data, options_of(1)), doctest::Contains("rows"), Error);
  TrainOptions wrong = options_of(0);
  CHECK_THROWS_WITH_AS((void)model.trainer(data_of(model, 8), wrong), doctest::Contains("epochs 0"), Error);
  CHECK_THROWS_AS((void)model.trainer(data_of(model, 8)), Error);  // never compiled, and no loss
}

TEST_CASE("Runner: weights can be quantized as the model is prepared") {
  const Model model = Model::parse("small.json", kSmall);
  RunOptions options;
  const std::vector<NamedTensor> floats = model.prepare(options).run({});
  options.dtype = "int8";
  Runner quantized = model.prepare(options);
  const double difference = relative_difference(quantized.run({}).front().tensor, floats.front().tensor);
  CHECK(difference > 0);
  CHECK(difference < 0.2);
}

TEST_CASE("Runner: a model that passes the memory limit is refused before it is prepared") {
  const Model model = Model::parse("small.json", kSmall);
  RunOptions options;
  options.batch = 50'000'000;
  options.memory_limit = std::int64_t{1} << 30;
  try {
    (void)model.prepare(options);
    FAIL("it fits");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_memory);
  }
  options = {};
  options.matmul_precision = "low";
  CHECK_THROWS_WITH_AS((void)model.prepare(options), doctest::Contains("matmul_precision 'low'"), Error);
}

TEST_CASE("Runner: with skip_padding the positions that are no padding have the same numbers") {
  const Model model = Model::open(generation_case("bert_classifier/preset/config.json"));
  const auto inputs = expected_of("bert_classifier").inputs;
  RunOptions options;
  for (const auto& [name, tensor] : inputs) options.input_shapes.emplace(name, tensor.shape());
  Runner whole = model.prepare(options);
  options.skip_padding = true;
  Runner runner = model.prepare(options);
  const Tensor& mask = inputs.at("padding_mask");
  const auto of_sequences = [](const std::vector<NamedTensor>& outputs) {
    const auto found =
        std::ranges::find_if(outputs, [](const NamedTensor& output) { return output.tensor.shape().rank() == 3; });
    REQUIRE(found != outputs.end());
    return found->tensor;
  };
  const Tensor expected = of_sequences(whole.run(inputs));
  for (int pass = 0; pass < 2; ++pass) {  // each is compiled for its inputs
    const Tensor got = of_sequences(runner.run(inputs));
    REQUIRE(got.shape() == expected.shape());
    const std::int64_t width = got.size() / mask.size();
    for (std::int64_t i = 0; i < got.size(); ++i) {
      const double wanted = mask.at(i / width) != 0.0 ? expected.at(i) : 0.0;
      CHECK(got.at(i) == doctest::Approx(wanted).epsilon(1e-4));
    }
  }
}
