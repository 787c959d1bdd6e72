// Training through attn/attn.h.
#include "support.h"

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* kSmall = R"({"name": "small", "input_shape": [3, 4], "num_layers": 1, "num_heads": 2,
  "key_dim": 2, "intermediate_dim": 8, "units": 2})";

/// Inputs with this number of rows. Each target is the sum of two neighboring input elements.
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
  CHECK_THROWS_AS((void)model.trainer(data_of(model, 8)), Error);  // a model that was never compiled needs a loss
}

TEST_CASE("Runner: weights can be quantized while the model is prepared") {
  const Model model = Model::parse("small.json", kSmall);
  RunOptions options;
  const std::vector<NamedTensor> floats = model.prepare(options).run({});
  options.dtype = "int8";
  Runner quantized = model.prepare(options);
  const double difference = relative_difference(quantized.run({}).front().tensor, floats.front().tensor);
  CHECK(difference > 0);
  CHECK(difference < 0.2);
}

TEST_CASE("Runner: a model above the memory limit is rejected before it is prepared") {
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

TEST_CASE("Runner: skip_padding keeps the results at positions without padding") {
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

TEST_CASE("Trainer: the returned model has the trained weights and can be trained further") {
  const Model model = Model::parse("small.json", kSmall);
  const auto data = data_of(model, 8);
  TrainOptions whole = options_of(4), half = options_of(2);
  whole.shuffle = half.shuffle = false;
  Trainer once = model.trainer(data, whole), first = model.trainer(data, half);
  (void)once.fit();
  (void)first.fit();
  half.loss = half.optimizer = std::nullopt;  // default: those of the compiled model
  half.learning_rate = std::nullopt;
  const Model trained = first.model();
  Trainer second = trained.trainer(data, half);
  (void)second.fit();
  const std::vector<NamedTensor> expected = once.weights(), got = second.weights();
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(relative_difference(got[i].tensor, expected[i].tensor) == 0);
}

TEST_CASE("Trainer: events follow each step and epoch, and an exception in one ends the training") {
  const Model model = Model::parse("small.json", kSmall);
  const auto data = data_of(model, 8);
  Trainer trainer = model.trainer(data, options_of(3));
  int steps = 0;
  std::vector<double> losses;
  FitEvents events;
  events.step = [&] { ++steps; };
  events.epoch = [&](std::int64_t epoch, const std::map<std::string, double>& values) {
    CHECK(epoch == static_cast<std::int64_t>(losses.size()) + 1);
    losses.push_back(values.at("loss"));
  };
  const History history = trainer.fit(events);
  CHECK(steps == 6);
  CHECK(losses == history.values.at("loss"));
  CHECK(trainer.value_names() == std::vector<std::string>{"loss"});
  Trainer stopped = model.trainer(data, options_of(3));
  events.step = [] { throw std::runtime_error("enough"); };
  CHECK_THROWS_WITH((void)stopped.fit(events), "enough");
}

TEST_CASE("Model: compile settings in Keras's format replace the model's own") {
  const Model model = Model::parse("small.json", kSmall);
  const auto data = data_of(model, 8);
  const Model compiled = model.compiled(R"({"optimizer": {"class_name": "Adam", "config": {"learning_rate": 0.01}},
    "loss": "mean_squared_error", "metrics": ["mae"]})");
  TrainOptions options;
  options.epochs = 2;
  options.batch_size = 4;
  Trainer trainer = compiled.trainer(data, options), same = model.trainer(data, options_of(2));
  CHECK(trainer.value_names() == std::vector<std::string>{"loss", "mae"});
  CHECK(trainer.fit().values.at("loss") == same.fit().values.at("loss"));
  CHECK_THROWS_WITH_AS((void)model.compiled(R"({"optimizer": "adam"})"), doctest::Contains("compile_config"), Error);
  CHECK_THROWS_AS((void)model.compiled(R"({"optimizer": "adma", "loss": "mse"})"), Error);
}

TEST_CASE("Model: gradients equal the slopes of the loss") {
  const Model model = Model::parse("small.json", kSmall);
  const auto data = data_of(model, 8);
  RunOptions options;
  options.dtype = "float64";
  GradientOptions how;
  how.input_gradients = true;
  const Gradients gradients = model.gradients(data, how, options);
  const std::vector<std::string> names = model.weight_names();
  REQUIRE(gradients.gradients.size() == names.size() + 1);
  CHECK(gradients.gradients.back().name == "input:" + model.input_names().front());
  std::vector<NamedTensor> weights = model.weights(options);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(gradients.gradients[i].name == names[i]);
    weights[i].tensor = weights[i].tensor.cast(DType::float64);
  }
  constexpr double kStep = 1e-3;  // a shorter step would lose digits in the float32 weights
  const double before = weights.back().tensor.at(0);
  double loss[2];
  for (const int side : {0, 1}) {
    weights.back().tensor.set(0, before + (side == 0 ? -kStep : kStep));
    loss[side] = model.with_weights(weights).gradients(data, {}, options).loss;
  }
  const double slope = (loss[1] - loss[0]) / (2 * kStep);
  CHECK(gradients.gradients[names.size() - 1].tensor.at(0) == doctest::Approx(slope).epsilon(1e-3));
  how.wrt = {"nothing*"};
  CHECK_THROWS_WITH_AS((void)model.gradients(data, how), doctest::Contains("`wrt`"), Error);
}
