// Folders as models, through attn/attn.h.
#include <nlohmann/json.hpp>

#include "attn/io/hdf5.h"
#include "attn/weights/read_store.h"
#include "support.h"

using namespace attn;

namespace {

using test::expected_of;
using test::generation_case;
using test::refusal;
using test::relative_difference;
using test::TemporaryFolder;
using test::text_of;

std::vector<NamedTensor> run(const std::string& path, const test::Expected& expected,
                             std::optional<std::string> weights = {}) {
  RunOptions options;
  options.weights = std::move(weights);
  for (const auto& [name, tensor] : expected.inputs) options.input_shapes.emplace(name, tensor.shape());
  return Model::open(path).prepare(options).run(expected.inputs);
}

void copy_preset(const std::string& name, const TemporaryFolder& to) {
  std::filesystem::copy(generation_case(name + "/preset"), to.path(), std::filesystem::copy_options::recursive);
}

/// Splits the weights of a stored model into shards.
void write_shards(const std::string& whole, const TemporaryFolder& folder) {
  const weights::Store store = weights::read_store(whole);
  nlohmann::json map;
  std::vector<io::Hdf5File> files(2);
  for (std::size_t i = 0; i < store.weights.size(); ++i) {
    const NamedTensor& weight = store.weights[i];
    files[i % 2].objects.emplace(weight.name, io::Hdf5Object{weight.tensor, {}});
    map["/" + weight.name.substr(0, weight.name.rfind('/'))].push_back("model_0000" + std::to_string(i % 2) +
                                                                       ".weights.h5");
  }
  for (std::size_t i = 0; i < 2; ++i) {
    io::AtomicFile file(folder / ("model_0000" + std::to_string(i) + ".weights.h5"));
    io::write_hdf5(file, files[i]);
    file.commit();
  }
  folder.file("model.weights.json", nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
}

}  // namespace

TEST_CASE("a preset: the folder opens the task, its config.json the backbone, both with the folder's weights") {
  const auto expected = expected_of("gpt2");
  const std::string folder = generation_case("gpt2/preset");
  CHECK(relative_difference(run(folder, expected)[0].tensor, expected.outputs.at("logits")) < test::kTolerance);
  CHECK(relative_difference(run(folder + "/task.json", expected)[0].tensor, expected.outputs.at("logits")) <
        test::kTolerance);
  CHECK(relative_difference(run(folder + "/config.json", expected)[0].tensor, expected.outputs.at("hidden")) <
        test::kTolerance);
  CHECK(Model::open(folder).name() == "gpt2_causal_lm");
  CHECK(Model::open(folder + "/config.json").name() == "gpt2_backbone");
}

TEST_CASE("a preset: a task reads its own weights from task.weights.h5") {
  const auto expected = expected_of("bert_classifier");
  const auto outputs = run(generation_case("bert_classifier/preset"), expected);
  CHECK(relative_difference(outputs[0].tensor, expected.outputs.at("task_output")) < test::kTolerance);
}

TEST_CASE("a preset: a task's .keras file gives the same model") {
  const auto expected = expected_of("gpt2");
  const auto of_archive = run(generation_case("gpt2/task.keras"), expected);
  CHECK(relative_difference(of_archive[0].tensor, run(generation_case("gpt2/preset"), expected)[0].tensor) == 0.0);
}

TEST_CASE("a preset: split weights of KerasHub are read") {
  const auto expected = expected_of("gpt2");
  const TemporaryFolder folder;
  copy_preset("gpt2", folder);
  write_shards(folder / "model.weights.h5", folder);
  std::filesystem::remove(folder / "model.weights.h5");
  CHECK(relative_difference(run(folder.path(), expected)[0].tensor, expected.outputs.at("logits")) < test::kTolerance);
  std::filesystem::remove(folder / "model_00001.weights.h5");
  CHECK(refusal([&] { run(folder.path(), expected); }).find("model_00001.weights.h5") != std::string::npos);
}

TEST_CASE("a preset: weights can come from another folder or from a file of the backbone") {
  const auto expected = expected_of("gpt2");
  const TemporaryFolder folder;
  copy_preset("gpt2", folder);
  std::filesystem::remove(folder / "model.weights.h5");
  const std::string message = refusal([&] { run(folder.path(), expected); });
  CHECK(message.find("a folder without weights; expected model.weights.h5") != std::string::npos);
  CHECK(Model::open(folder.path()).summary().find("gpt2_backbone") != std::string::npos);
  for (const char* weights : {"gpt2/preset", "gpt2/preset/model.weights.h5", "gpt2/task.keras"}) {
    CAPTURE(weights);
    const auto outputs = run(folder.path(), expected, generation_case(weights));
    CHECK(relative_difference(outputs[0].tensor, expected.outputs.at("logits")) < test::kTolerance);
  }
}

TEST_CASE("a preset: a Llama without head weights uses its token embedding") {
  const auto expected = expected_of("llama3");
  const TemporaryFolder folder;
  copy_preset("llama3", folder);
  CHECK(Model::open(folder / "config.json").config().find("tie_word_embeddings") == std::string::npos);
  io::Hdf5File tied;
  for (const NamedTensor& weight : weights::read_store(folder / "model.weights.h5").weights)
    if (weight.name != "layers/reversible_embedding/vars/1")
      tied.objects.emplace(weight.name, io::Hdf5Object{weight.tensor, {}});
  io::AtomicFile file(folder / "tied.h5");
  io::write_hdf5(file, tied);
  file.commit();
  std::filesystem::rename(folder / "tied.h5", folder / "model.weights.h5");
  std::filesystem::remove(folder / "task.json");
  const Model model = Model::open(folder.path());
  CHECK(model.config().find("\"tie_word_embeddings\": true") != std::string::npos);
  CHECK(relative_difference(run(folder.path(), expected)[0].tensor, expected.outputs.at("hidden")) < test::kTolerance);
}

TEST_CASE("a folder: weights given in memory take the place of its own") {
  for (const char* name : {"gpt2/preset", "bart/preset", "llama3/hf", "gpt2_int8/preset"}) {
    CAPTURE(name);
    const Model model = Model::open(generation_case(name));
    std::vector<NamedTensor> weights = model.weights();
    Tensor& first = weights.front().tensor;
    first = first.cast(first.dtype());
    first.set(0, 1);
    const std::vector<NamedTensor> kept = model.with_weights(weights).weights();
    REQUIRE(kept.size() == weights.size());
    CHECK(kept.front().tensor.at(0) == 1);
    CHECK(relative_difference(kept.back().tensor, weights.back().tensor) == 0);
  }
}

TEST_CASE("a folder: pickled weights are rejected when they are needed") {
  const TemporaryFolder folder;
  std::filesystem::copy(generation_case("gpt2/hf/config.json"), folder / "config.json");
  folder.file("pytorch_model.bin", "\x80\x02");
  CHECK(Model::open(folder.path()).name() == "gpt2_causal_lm");
  CHECK(refusal([&] { static_cast<void>(Model::open(folder.path()).prepare()); }).find("in Python pickles") !=
        std::string::npos);
}

TEST_CASE("a folder: an unsupported kind is rejected, with the way out") {
  const auto refused = [](std::string_view name, std::string_view text) {
    const TemporaryFolder folder;
    folder.file(name, text);
    return refusal([&] { static_cast<void>(Model::open(folder.path())); });
  };
  CHECK(refused("saved_model.pb", "").find("a TensorFlow SavedModel") != std::string::npos);
  CHECK(refused("model-q4.gguf", "GGUF").find("a llama.cpp model") != std::string::npos);
  CHECK(refused("model.onnx", "").find("an ONNX model") != std::string::npos);
  CHECK(refused("notes.txt", "").find("a folder without config.json") != std::string::npos);
  CHECK(refused("config.json", R"({"architecture": "vit_base_patch16_224"})").find("models of timm") !=
        std::string::npos);
  CHECK(refused("config.json", R"({"hidden_size": 4})").find("neither a model of KerasHub") != std::string::npos);
  CHECK(refused("config.json", "[1]").find("config.json: expected an object") != std::string::npos);
  CHECK(refused("config.json", "{").find("config.json: ") != std::string::npos);
}
