// Weights in memory and in files through attn/attn.h.
#include "support.h"

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char* kEncoder = R"({"name": "small", "input_shape": [3, 4], "num_layers": 1, "num_heads": 2,
  "key_dim": 2, "intermediate_dim": 8, "units": 2})";

Tensor first_output(const Model& model, const RunOptions& options = {}) {
  return model.prepare(options).run({}).front().tensor.cast(DType::float32);
}

}  // namespace

TEST_CASE("Model: weights in memory replace random ones, by their paths") {
  const Model model = Model::parse("small.json", kEncoder);
  RunOptions other;
  other.seed = 5;
  std::vector<NamedTensor> weights = model.weights(other);
  REQUIRE(weights.size() == model.weight_names().size());
  std::uint64_t numbers = 0;
  for (const NamedTensor& weight : weights) numbers += static_cast<std::uint64_t>(weight.tensor.size());
  CHECK(model.count_params() == numbers);
  const Model changed = model.with_weights({weights.rbegin(), weights.rend()});
  const std::vector<NamedTensor> kept = changed.weights();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i].name == weights[i].name);
    REQUIRE(kept[i].tensor.shape() == weights[i].tensor.shape());
    for (std::int64_t j = 0; j < kept[i].tensor.size(); ++j) CHECK(kept[i].tensor.at(j) == weights[i].tensor.at(j));
  }
  CHECK(relative_difference(first_output(changed), first_output(model)) > 0);
  weights.pop_back();
  CHECK(refusal([&] { (void)model.with_weights(weights); }).starts_with("the weights: 1 of the model's"));
}

TEST_CASE("Model: saved weights can be read again, and an archive holds the whole model") {
  const TemporaryFolder folder;
  const Model drawn = Model::parse("small.json", kEncoder);
  RunOptions other;
  other.seed = 5;
  const Model model = drawn.with_weights(drawn.weights(other));
  const Tensor expected = first_output(model);
  CHECK(relative_difference(first_output(drawn), expected) > 0);
  for (const char* name : {"w.weights.h5", "w.h5", "w.safetensors", "w.npz"}) {
    CAPTURE(name);
    model.save(folder / name);
    RunOptions options;
    options.weights = folder / name;
    CHECK(relative_difference(first_output(drawn, options), expected) == 0);
  }
  model.save(folder / "whole.keras");
  CHECK(relative_difference(first_output(Model::open(folder / "whole.keras")), expected) == 0);
  SaveOptions half;
  half.dtype = "float16";
  model.save(folder / "half.keras", half);
  const double difference = relative_difference(first_output(Model::open(folder / "half.keras")), expected);
  CHECK(difference > 0);
  CHECK(difference < 1e-2);
  half.dtype = "int8";
  CHECK_THROWS_WITH_AS(model.save(folder / "no.keras", half), doctest::Contains("dtype 'int8'"), Error);
  CHECK_THROWS_AS(model.save(folder / "no.txt"), Error);
  half = {};
  half.form = "folder";
  CHECK_THROWS_WITH_AS(model.save(folder / "no", half), doctest::Contains("form 'folder'"), Error);
}

TEST_CASE("Model: a quantized model equals Keras's and is saved quantized") {
  const TemporaryFolder folder;
  const Model model = Model::parse("small.json", kEncoder);
  RunOptions options;
  options.dtype = "int8";
  const Tensor expected = first_output(model, options);
  const Model quantized = model.quantized("int8");
  CHECK(relative_difference(first_output(quantized), expected) == 0);
  quantized.save(folder / "int8.keras");
  CHECK(relative_difference(first_output(Model::open(folder / "int8.keras")), expected) == 0);
  CHECK(refusal([&] { (void)quantized.quantized("int8"); }).find("already quantized") != std::string::npos);
  CHECK_THROWS_WITH_AS((void)model.quantized("int3"), doctest::Contains("quantize 'int3'"), Error);
}

TEST_CASE("Model: a task is saved with its tokenizer") {
  const TemporaryFolder folder;
  const Model model = Model::open(generation_case("gpt2/preset"));
  for (const char* form : {"preset", "hf", "keras"}) {
    CAPTURE(form);
    const std::string path = folder / (std::string(form) + (std::string_view(form) == "keras" ? ".keras" : ""));
    SaveOptions how;
    how.form = form;
    model.save(path, how);
    GenerateOptions greedy;
    greedy.sampler = "greedy";
    greedy.max_new_tokens = 4;
    CHECK(Model::open(path).generator().generate({"the"}, greedy) == model.generator().generate({"the"}, greedy));
  }
}

TEST_CASE("Model: outputs have Keras's names, and inputs keep their open sizes") {
  const Model model = Model::parse("small.json", kEncoder);
  REQUIRE(model.output_names().size() == 1);
  CHECK(model.output_names().front() == model.layers().back().name);
  const auto shapes = model.input_shapes();
  CHECK(shapes.at(model.input_names().front()) == Shape{kUnknown, 3, 4});
}

TEST_CASE("Model: an output has the name of its own layer, though another layer passes its value on") {
  const Model model = Model::parse("passed_on.json", R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [null, 4]}, "inbound_nodes": []},
    {"class_name": "Dense", "name": "dense", "config": {"name": "dense", "units": 3}, "inbound_nodes": [{"args": [
      {"class_name": "__keras_tensor__", "config": {"shape": [null, 4], "keras_history": ["x", 0, 0]}}], "kwargs": {}}]},
    {"class_name": "Dropout", "name": "drop", "config": {"name": "drop", "rate": 0.1}, "inbound_nodes": [{"args": [
      {"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "keras_history": ["dense", 0, 0]}}],
      "kwargs": {}}]}],
    "input_layers": [["x", 0, 0]],
    "output_layers": [["drop", 0, 0], ["dense", 0, 0], ["x", 0, 0], ["dense", 0, 0]]}})");
  CHECK(model.output_names() == std::vector<std::string>{"drop", "dense", "x", "dense[1]"});
}

TEST_CASE("Generator: encode adds the start token, and score accepts its ids") {
  Generator generator = Model::open(generation_case("gpt2/preset")).generator();
  const std::vector<std::int32_t> ids = generator.encode("the the");
  REQUIRE(ids.size() >= 2);
  CHECK(ids.front() == generator.tokenizer().start_id());
  CHECK(generator.score(ids).size() == ids.size() - 1);
}
