// Messages for almost correct command lines.
#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "../capture.h"
#include "../places.h"
#include "../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kTokens = R"({"name": "reader", "vocabulary_size": 30, "sequence_length": 6, "hidden_dim": 8,
  "num_layers": 1, "num_heads": 2, "intermediate_dim": 8})";

TEST_CASE("attn: -V is --version") { CHECK(run_attn({"-V"}).out == run_attn({"--version"}).out); }

TEST_CASE("attn: --device gpu is --device cuda") {
  const Result gpu = run_attn({"run", "--device", "gpu"}), cuda = run_attn({"run", "--device", "cuda"});
  CHECK(gpu.code == cuda.code);
  CHECK(gpu.err == cuda.err);
}

TEST_CASE("attn: the extension of -o selects the form, and an unsupported one is rejected") {
  const TemporaryFolder folder;
  CHECK(run_attn({"summary", "-o", folder / "s.json"}).code == 0);
  CHECK(json::parse(read_text(folder / "s.json"))["schema"] == "attn.summary/1");
  CHECK(run_attn({"summary", "-o", folder / "s.md"}).code == 0);
  CHECK(read_text(folder / "s.md").find("| Layer") != std::string::npos);
  CHECK(run_attn({"summary", "-o", folder / "s.txt"}).code == 0);
  CHECK(run_attn({"summary", "-o", folder / "s"}).code == 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"summary", "-o", folder / "s.png"},

                                                {"summary", "-o", folder / "s.npz"},
                                                {"report", "-o", folder / "r.txt"},
                                                {"report", "-o", folder / "r.page"},
                                                {"weights", "x", "-o", folder / "w.svg"}}) {
    CAPTURE(words);
    const Result result = run_attn(words);
    CHECK(result.code == 2);
    CHECK(contains(result.err, "no format of the result has this extension"));
  }
}

TEST_CASE("run: -o with --json writes the report if its name ends in .json") {
  const TemporaryFolder folder;
  const Result result = run_attn({"run", "--json", "-o", folder / "r.json"});
  CHECK(result.code == 0);
  CHECK(result.out.empty());
  CHECK(json::parse(read_text(folder / "r.json"))["weights"] == "random, seed 0");
  CHECK(run_attn({"run", "-o", folder / "x.json"}).code == 2);
}

TEST_CASE("attn: binary data is never written to a terminal") {
  const TemporaryFolder folder;
  for (const std::string name : {"terminal.npz", "terminal.onnx", "terminal.png", "terminal.keras"})
    std::filesystem::create_symlink("/dev/stdout", folder / name);
  const std::vector<std::vector<std::string>> commands = {
      {"run", "-o", "-"},
      {"run", "-o", folder / "terminal.npz"},
      {"run", "--scores", folder / "terminal.npz"},
      {"init", "-o", "-"},
      {"init", "-o", folder / "terminal.keras"},
      {"convert", fixture("mha/causal/model.keras"), "-"},
      {"convert", fixture("mha/causal/model.keras"), folder / "terminal.npz"},
      {"convert", fixture("mha/causal/model.keras"), folder / "terminal.onnx"},
      {"grad", "--loss", "mse", "-o", folder / "terminal.npz"},
      {"plot", "--format", "png"},
      {"plot", "--format", "png", "-o", "-"},
      {"plot", "-o", folder / "terminal.png"},
      {"heatmap", "--format", "png", "-o", "/dev/stdout"},
      {"heatmap", "--format", "png", "-o", "/dev/fd/1"},
      {"heatmap", "-o", folder / "terminal.png"},
  };
  for (const std::vector<std::string>& words : commands) {
    CAPTURE(words);
    const Result result = run_on_terminal(words);
    CHECK(result.code == 2);
    CHECK_MESSAGE(contains(result.out, "binary data is not written to a terminal"), result.out);
    CHECK(result.out.find('\0') == std::string::npos);
  }
}

TEST_CASE("run: random integers stay inside the table that a part of them indexes") {
  const TemporaryFolder folder;
  const std::string model =
      folder.file("part.json", R"({"class_name": "Sequential", "config": {"name": "part", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 64, 1], "dtype": "int32", "name": "ids"}},
    {"class_name": "Cropping1D", "config": {"cropping": [0, 1], "name": "crop"}},
    {"class_name": "Embedding", "config": {"input_dim": 3, "output_dim": 2, "name": "embed"}}]}})");
  CHECK_MESSAGE(run_attn({"run", model}).code == 0, run_attn({"run", model}).err);
}

TEST_CASE("run: --batch-size is reported as unused if an array has another batch") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  io::write_tensors(path, std::vector<NamedTensor>{{"x", Tensor(DType::float32, {2, 50, 512})}});
  const Result result = run_attn({"run", "--input", path, "--batch-size", "4"});
  CHECK(result.code == 0);
  CHECK(contains(result.err, "--batch-size 4 is not used: the array given for 'input_layer' has a batch of 2"));
  CHECK(run_attn({"run", "--input", path, "--batch-size", "2"}).err.empty());
}

TEST_CASE("run: NaN in an output is a warning") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  Tensor x(DType::float32, {1, 50, 512});
  x.set(0, std::numeric_limits<double>::quiet_NaN());
  io::write_tensors(path, std::vector<NamedTensor>{{"x", x}});
  const Result result = run_attn({"run", "--input", path});
  CHECK(result.code == 0);
  CHECK_FALSE(contains(result.err, "output_0"));
  CHECK(contains(result.err, "of its values are NaN or infinite; --check-finite names the layer"));
}

TEST_CASE("run: an array without a batch axis, and float tokens, get a hint") {
  const TemporaryFolder folder;
  const std::string one = folder / "one.npy", floats = folder / "floats.npy", halves = folder / "halves.npy";
  io::write_tensors(one, std::vector<NamedTensor>{{"x", Tensor(DType::float32, {50, 512})}});
  CHECK(contains(run_attn({"run", "--input", one}).err, "it lacks the batch axis, which comes first: (1, 50, 512)"));
  io::write_tensors(floats, std::vector<NamedTensor>{{"x", Tensor(DType::float32, {1, 6})}});
  CHECK(contains(run_attn({"run", "-", "--input", floats}, kTokens).err,
                 "its values are integers: save it with .astype('int32')"));
  Tensor half(DType::float32, {1, 6});
  half.set(2, 0.5);
  io::write_tensors(halves, std::vector<NamedTensor>{{"x", half}});
  const Result result = run_attn({"run", "-", "--input", halves}, kTokens);
  CHECK(result.code == 3);
  CHECK_FALSE(contains(result.err, "astype"));
}

TEST_CASE("explain: products and powers have an ASCII form") {
  const Result result = run_attn({"explain", "multi_head_attention", "--ascii"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "4*d_model^2 = 1,048,576"));
}

TEST_CASE("attn: files of other libraries are rejected by their kind") {
  const TemporaryFolder folder;
  for (const auto& [name, text, words] :
       {std::tuple("m.onnx", "\x08\x08", "an ONNX model"), std::tuple("m.gguf", "GGUF", "a llama.cpp model"),
        std::tuple("saved_model.pb", "\x08\x01", "a TensorFlow SavedModel"),
        std::tuple("m.pt", "\x80\x02", "a Python pickle"), std::tuple("m.tflite", "\x1c", "a LiteRT model")}) {
    CAPTURE_BINDING(name);
    const std::string path = folder.file(name, text);
    for (const char* command : {"summary", "run", "weights"}) {
      const Result result = run_attn({command, path});
      CHECK(result.code == 3);
      CHECK(contains(result.err, words));
    }
  }
  CHECK(run_attn({"summary", folder.file("named.onnx", kTokens)}).code == 0);
}

TEST_CASE("attn: a file of arrays given as MODEL is an error that says where it belongs") {
  const TemporaryFolder folder;
  for (const char* name : {"a.npz", "a.npy", "a.safetensors"}) {
    CAPTURE(name);
    io::write_tensors(folder / name, std::vector<NamedTensor>{{"x", Tensor(DType::float32, {2, 3})}});
    const Result result = run_attn({"run", folder / name});
    CHECK(result.code == 3);
    CHECK(contains(result.err, "this file contains arrays, not a model"));
    CHECK(contains(result.err, "give --weights FILE"));
  }
}

TEST_CASE("attn: a layer shared with a nested model is one layer with one set of weights") {
  const std::string folder = in_repository("tests/data/shared_layers/");
  const json meta = json::parse(read_text(folder + "meta.json"));
  CHECK(json::parse(run_attn({"summary", folder + "model.keras", "--json"}).out)["total_params"] ==
        meta["total_params"]);
  const Result result = run_attn({"run", folder + "model.keras", "--input", folder + "inputs.npz", "--expect",
                                  folder + "outputs.npz", "--rtol", "1e-4", "--atol", "1e-5"});
  CAPTURE(result.err);
  CAPTURE(result.out);
  CHECK(result.code == 0);
  const Result validate = run_attn({"validate", folder + "model.keras"});
  CHECK(validate.code == 0);
  CHECK(contains(validate.out, "is shared with a nested model; Keras 3.15 saves such a model"));
}

TEST_CASE("attn: every header, JSON and page shows the origin of the weights") {
  const TemporaryFolder folder;
  const Environment date(Variables{{"SOURCE_DATE_EPOCH", "86400"}});
  CHECK(contains(run_attn({"run"}).out, "  weights: random, seed 0\n"));
  CHECK(contains(run_attn({"heatmap", "--seed", "3"}).out, "weights: random, seed 3\n"));
  const std::string file = in_repository("tests/data/io/model.keras");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run"}, {"heatmap"}, {"grad"}}) {
    std::vector<std::string> asked = words;
    asked.insert(asked.begin() + 1, {file, "--json"});
    CAPTURE(asked);
    const Result result = run_attn(asked);
    if (result.code == 0) CHECK(json::parse(result.out)["weights"] == file);
  }
  CHECK(run_attn({"heatmap", "-o", folder / "a.html", "--seed", "1"}).code == 0);
  const std::string page = read_text(folder / "a.html");
  for (const char* part : {"SHA-256", "1970-01-02 00:00 UTC", "a.html --seed 1", "random, seed 1"})
    CHECK(contains(page, part));
}

}  // namespace
}  // namespace attn::test
