// The first commands of a new user, and the messages for typical mistakes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

namespace attn::test {
namespace {

using nlohmann::json;

const std::string kNested = in_repository("tests/data/nested_optimizer/model.keras");

/// A character-level GPT: 128 tokens, sequences of 16.
const std::string kCharacters = R"({"name": "characters", "vocabulary_size": 128, "sequence_length": 16,
  "hidden_dim": 16, "position_encoding": "learned", "num_layers": 1, "num_heads": 2, "intermediate_dim": 32,
  "causal": true, "units": 128, "output_activation": "softmax"})";

/// A classifier with 12 tokens, the first of which is padding.
const std::string kClassifier = R"({"class_name": "Sequential", "config": {"name": "classifier", "layers": [
  {"class_name": "InputLayer", "config": {"batch_shape": [null, 5], "dtype": "DTYPE", "name": "tokens"}},
  {"class_name": "Embedding", "config": {"name": "e", "input_dim": 12, "output_dim": 4, "mask_zero": true}},
  {"class_name": "GlobalAveragePooling1D", "config": {"name": "pool"}},
  {"class_name": "Dense", "config": {"name": "head", "units": 2, "activation": "softmax"}}]}})";

std::string classifier(const std::string& dtype) {
  std::string out = kClassifier;
  out.replace(out.find("DTYPE"), 5, dtype);
  return out;
}

Tensor tokens(std::int64_t rows) {
  Tensor out(DType::int32, {rows, 5});
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, static_cast<double>(i % 7 + 1));
  return out;
}

Tensor labels(std::int64_t rows) {
  Tensor out(DType::int32, {rows});
  for (std::int64_t i = 0; i < rows; ++i) out.set(i, static_cast<double>(i % 2));
  return out;
}

}  // namespace

TEST_CASE("run: optimizers of nested models are ignored, as in Keras") {
  const TemporaryFolder folder;
  const std::string inputs = in_repository("tests/data/nested_optimizer/inputs.npz");
  CHECK(run_attn(
            {"run", kNested, "--input", inputs, "--expect", in_repository("tests/data/nested_optimizer/outputs.npz")})
            .code == 0);
  CHECK(run_attn({"convert", kNested, folder / "w.npz"}).code == 0);
  CHECK(io::read_tensors(folder / "w.npz").size() == 2);
  CHECK(run_attn({"grad", kNested}).code == 0);
  CHECK(run_attn({"weights", kNested}).code == 0);  // it also lists optimizer state
}

TEST_CASE("run: outputs have Keras's names, and names in older files are known") {
  const TemporaryFolder folder;
  const std::string inputs = in_repository("tests/data/nested_optimizer/inputs.npz");
  const json report = json::parse(run_attn({"run", kNested, "--input", inputs, "--json"}).out);
  CHECK(report["outputs"][0]["name"] == "middle");
  REQUIRE(run_attn({"run", kNested, "--input", inputs, "-o", folder / "y.npz"}).code == 0);
  CHECK(io::read_tensors(folder / "y.npz").front().name == "middle");
  CHECK(run_attn({"compare", kNested, "--input", inputs, "--expect", folder / "y.npz", "--outputs-only"}).code == 0);
  CHECK(run_attn({"compare", kNested, "--input", inputs, "--expect",
                  in_repository("tests/data/nested_optimizer/outputs.npz")})
            .code == 0);
}

TEST_CASE("run: unused arrays are ignored with one warning, and a single array needs no name") {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.json", classifier("int32"));
  io::write_tensors(folder / "training.npz", std::vector<NamedTensor>{{"tokens", tokens(4)}, {"y", labels(4)}});
  const Result training = run_attn({"run", model, "--input", folder / "training.npz"});
  CHECK(training.code == 0);
  CHECK(contains(training.err, "ignored, as the model has no such input"));
  CHECK(contains(training.err, "'y' of"));
  for (const char* name : {"arr_0", "x"}) {
    io::write_tensors(folder / "one.npz", std::vector<NamedTensor>{{name, tokens(4)}});
    const Result one = run_attn({"run", model, "--input", folder / "one.npz"});
    CHECK(one.code == 0);
    CHECK(one.err.empty());
  }
  io::write_tensors(folder / "others.npz", std::vector<NamedTensor>{{"a", tokens(4)}, {"b", tokens(4)}});
  const Result none = run_attn({"run", model, "--input", folder / "others.npz"});
  CHECK(none.code == 3);
  CHECK(contains(none.err, "the model has no input 'a'; its inputs are tokens"));
}

TEST_CASE("run: a misspelled input is rejected, not drawn at random") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> arrays = io::read_tensors(fixture("model/encoder_decoder/inputs.npz"));
  for (NamedTensor& array : arrays)
    if (array.name == "target") array.name = "tagret";
  io::write_tensors(folder / "x.npz", arrays);
  const Result result = run_attn({"run", fixture("model/encoder_decoder/model.keras"), "--input", folder / "x.npz"});
  CHECK(result.code == 3);
  CHECK(contains(result.err, "no input 'tagret' (did you mean 'target'?)"));
}

TEST_CASE("run: a float input that indexes a table is drawn as tokens") {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.json", classifier("float32"));
  REQUIRE(run_attn({"run", model, "--dump", folder / "dump"}).code == 0);
  for (const NamedTensor& array : io::read_tensors(folder / "dump/layers.npz")) {
    if (array.name != "tokens") continue;
    for (std::int64_t i = 0; i < array.tensor.size(); ++i) {
      const double token = array.tensor.at(i);
      CHECK((token == std::floor(token) && token >= 0 && token < 12));
    }
  }
}

TEST_CASE("run: files for another model without MODEL give an error that asks for it") {
  const TemporaryFolder folder;
  io::write_tensors(folder / "x.npz", std::vector<NamedTensor>{{"tokens", tokens(4)}});
  for (const char* command : {"run", "heatmap", "report", "compare"}) {
    const Result result = run_attn({command, "--input", folder / "x.npz"});
    CHECK(result.code == 3);
    CHECK_MESSAGE(contains(result.err, "give a MODEL"), result.err);
  }
}

TEST_CASE("run: a .keras file is read from stdin with its weights") {
  const std::string archive = read_text(kNested);
  const std::string inputs = in_repository("tests/data/nested_optimizer/inputs.npz");
  const Result result = run_attn(
      {"run", "-", "--input", inputs, "--expect", in_repository("tests/data/nested_optimizer/outputs.npz")}, archive);
  CHECK_MESSAGE(result.code == 0, result.err);
}

TEST_CASE("generate: a model of characters reads and writes texts in the same way as train") {
  const TemporaryFolder folder;
  const std::string model = folder.file("gpt.json", kCharacters);
  const std::string text = folder.file("pages.txt", "one text of characters, as long as some rows of the model are\n");
  const std::string gpt = folder / "gpt.keras";
  REQUIRE(run_attn({"train", model, "--data", text, "-o", gpt, "--loss", "sparse_categorical_crossentropy"}).code == 0);

  const Result generated =
      run_attn({"generate", gpt, "--prompt", "one ", "--max-new-tokens", "3", "--sampler", "greedy", "--json"});
  REQUIRE_MESSAGE(generated.code == 0, generated.err);
  CHECK(json::parse(generated.out)["results"][0]["text"].get<std::string>().starts_with("one "));

  const Result scored = run_attn({"score", gpt, "--text", "one text", "--json"});
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  CHECK(json::parse(scored.out)["results"][0]["tokens"].size() == 8);
  CHECK(run_attn({"score", gpt, "--ids", "97,116"}).code == 0);

  const Result ran = run_attn({"run", gpt, "--input", text, "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(json::parse(ran.out)["outputs"][0]["shape"] == json({3, 16, 128}));
  const Result map = run_attn({"heatmap", gpt, "--input", text, "--format", "svg"});
  REQUIRE_MESSAGE(map.code == 0, map.err);
  CHECK(contains(map.out, ">x</text>"));

  CHECK(contains(run_attn({"run", gpt, "--input", folder.file("short.txt", "short")}).err, "a row of the input"));
  CHECK(contains(run_attn({"generate", gpt, "--prompt", "\xc3\xa4"}).err, "the byte 195 of the text is not a token"));
}

TEST_CASE("generate: a model without a tokenizer requires --ids") {
  const TemporaryFolder folder;
  std::string words = kCharacters;
  for (auto at = words.find("128"); at != std::string::npos; at = words.find("128", at)) words.replace(at, 3, "999");
  const Result result = run_attn({"generate", folder.file("words.json", words), "--prompt", "a"});
  CHECK(result.code == 3);
  CHECK(contains(result.err, "the model has no tokenizer; pass token ids with --ids 1,2,3"));
}

TEST_CASE("train: the command that is printed after a stop works, and its MODEL is the file of -o") {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.json", classifier("int32")), out = folder / "out.keras";
  io::write_tensors(folder / "data.npz", std::vector<NamedTensor>{{"tokens", tokens(32)}, {"y", labels(32)}});
  const std::vector<std::string> line{"train",
                                      model,
                                      "--data",
                                      folder / "data.npz",
                                      "-o",
                                      out,
                                      "--loss",
                                      "sparse_categorical_crossentropy",
                                      "--optimizer",
                                      "rmsprop",
                                      "--learning-rate",
                                      "1e-2",
                                      "--batch-size",
                                      "8",
                                      "--epochs",
                                      "3",
                                      "--warmup-steps",
                                      "2",
                                      "--decay",
                                      "cosine",
                                      "--freeze",
                                      "e",
                                      "--clipnorm",
                                      "1"};
  std::vector<std::string> stopped = line;
  stopped.insert(stopped.end(), {"--time-limit", "0s"});
  const Result stop = run_attn(stopped);
  REQUIRE_MESSAGE(stop.code == 0, stop.err);
  const auto begin = stop.err.find("resume with: attn ");
  REQUIRE(begin != std::string::npos);
  const std::string command = stop.err.substr(begin + 18, stop.err.find('\n', begin) - begin - 18);
  CHECK(command.starts_with("train " + out));
  CHECK_FALSE(contains(command, " -o "));
  std::vector<std::string> words = split(command, ' ');
  std::erase_if(words, [](const std::string& word) { return word == "--time-limit" || word == "0s"; });
  const Result resumed = run_attn(words);
  CHECK_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(contains(resumed.out, "12 steps, 3 epochs"));
  CHECK(contains(resumed.out, "RMSprop"));

  words.insert(words.end(), {"--weight-decay", "0.1"});
  const Result other = run_attn(words);
  CHECK(other.code == 2);
  CHECK_MESSAGE(contains(other.err, "--resume continues the training in"), other.err);
}

TEST_CASE("grad: --check has no false alarm after a training") {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.json", classifier("int32")), out = folder / "out.keras";
  io::write_tensors(folder / "data.npz", std::vector<NamedTensor>{{"tokens", tokens(14)}, {"y", labels(14)}});
  REQUIRE(
      run_attn({"train", model, "--data", folder / "data.npz", "-o", out, "--loss", "sparse_categorical_crossentropy",
                "--optimizer", "adam", "--learning-rate", "0.1", "--epochs", "300"})
          .code == 0);
  const Result check = run_attn({"grad", out, "--data", folder / "data.npz", "--check"});
  CHECK_MESSAGE(check.code == 0, check.out);
}

TEST_CASE("compare: two models run on the same inputs, with the tolerance of quantized weights if needed") {
  const TemporaryFolder folder;
  const std::string model = folder.file("m.json", classifier("int32")), a = folder / "a.keras", b = folder / "b.keras",
                    q = folder / "q.keras";
  REQUIRE(run_attn({"init", model, "-o", a}).code == 0);
  REQUIRE(run_attn({"init", model, "-o", b, "--seed", "1"}).code == 0);
  REQUIRE(run_attn({"convert", a, q, "--quantize", "int8"}).code == 0);
  io::write_tensors(folder / "x.npz", std::vector<NamedTensor>{{"tokens", tokens(3)}});
  const Result same = run_attn({"compare", a, a, "--input", folder / "x.npz"});
  CHECK_MESSAGE(same.code == 0, same.err);
  CHECK(contains(same.out, "x.npz"));
  CHECK(run_attn({"compare", a, b, "--input", folder / "x.npz"}).code == 1);
  const Result cost = run_attn({"compare", a, q, "--input", folder / "x.npz"});
  CHECK_MESSAGE(cost.code == 0, cost.out);
  CHECK(contains(cost.out, "usual for weights of int8"));
  CHECK(contains(cost.out, "quantizing to int8 changes the outputs by"));
}

TEST_CASE("attn: names of commands, options and arguments in other programs are known") {
  const TemporaryFolder folder;
  const std::string npz = folder / "x.npz";
  const std::vector<std::tuple<std::vector<std::string>, std::string>> rows = {
      {{"predict"}, "(did you mean 'run'?)"},
      {{"fit"}, "(did you mean 'train'?)"},
      {{"info"}, "(did you mean 'summary'?)"},
      {{"quantize"}, "(did you mean 'convert --quantize'?)"},
      {{"sum"}, "(did you mean 'summary'?)"},
      {{"load"}, "(did you mean 'summary'?)"},
      {{"lens"}, "(did you mean 'probe lens'?)"},
      {{"probe", "preset", "heads"}, "the operation comes first: attn probe heads preset"},
      {{"train", "m.keras", "--lr", "1e-3"}, "(did you mean '--learning-rate'?)"},
      {{"train", "m.keras", "--learning", "1e-3"}, "(did you mean '--learning-rate'?)"},
      {{"generate", "preset", "--beam-size", "2"}, "(did you mean '--num-beams'?)"},
      {{"generate", "preset", "--max_new_tokens", "5"}, "(did you mean '--max-new-tokens'?)"},
      {{"generate", "preset", "a text"}, "did you mean --prompt 'a text'?"},
      {{"score", "preset", "a text"}, "did you mean --text 'a text'?"},
      {{"run", "m.keras", "x.npz"}, "did you mean --input x.npz?"},
      {{"train", "m.keras", "x.npz"}, "did you mean --data x.npz?"},
      {{"run", "m.keras", "m.weights.h5"}, "did you mean --weights m.weights.h5?"},
      {{"report", "m.keras", "m.html"}, "did you mean --output m.html?"},
      {{"generate", "preset", "--top-p", "1.5"}, "--top-p '1.5': expected a number from 0 to 1"},
  };
  for (const auto& [words, hint] : rows) {
    const Result result = run_attn(words);
    CHECK(result.code == 2);
    CHECK_MESSAGE(contains(result.err, hint), result.err);
  }
}

TEST_CASE("attn: an empty file, a text and a trailing comma are reported as such") {
  const TemporaryFolder folder;
  const std::vector<std::tuple<std::string, std::string, std::string>> rows = {
      {"a.keras", "", "a.keras: the file is empty"},
      {"a.keras", "hello\n", "neither a zip archive nor JSON"},
      {"a.h5", "hello\n", "neither an HDF5 file nor JSON"},
      {"a.json", "hello\n", "not valid JSON: it begins with 'hello'"},
      {"a.json", R"({"input_shape": [5, 8],})", "not valid JSON: a comma before '}'"},
      {"a.json", R"({"input_shape": [5, 8, ]})", "not valid JSON: a comma before ']'"},
      {"checkpoint", "model_checkpoint_path: \"ckpt-1\"\n", "a TensorFlow checkpoint"},
      {"v.data-00000-of-00001", "abc", "a TensorFlow checkpoint"},
  };
  for (const auto& [name, text, message] : rows) {
    const Result result = run_attn({"summary", folder.file(name, text)});
    CHECK(result.code == 3);
    CHECK_MESSAGE(contains(result.err, message), result.err);
  }
  CHECK(contains(run_attn({"summary", ""}).err, "the name of a file is empty"));
}

TEST_CASE("attn: pages and pictures are not written to a terminal, and a file name is suggested") {
  const std::vector<std::tuple<std::vector<std::string>, std::string>> rows = {
      {{"report", "configs/encoder.json"}, "a page is not written to a terminal; write it with -o encoder.html"},
      {{"plot", "configs/encoder.json"}, "an SVG picture is not written to a terminal; write it with -o encoder.svg"},
      {{"heatmap", "configs/encoder.json", "--format", "svg"}, "write it with -o encoder.svg"},
      {{"plan", "configs/encoder.json", "--format", "svg"}, "write it with -o encoder.svg"},
  };
  for (const auto& [words, message] : rows) {
    std::string out = run_on_terminal(words, 200).out;
    CHECK_MESSAGE(contains(out, message), out.substr(0, 300));
  }
}

TEST_CASE("attn: a file written by -o is reported with its size, except with --quiet") {
  const TemporaryFolder folder;
  const std::string svg = folder / "p.svg";
  CHECK(contains(run_attn({"plot", "configs/encoder.json", "-o", svg}).out, svg + ": "));
  CHECK(run_attn({"plot", "configs/encoder.json", "-o", svg, "--quiet"}).out.empty());
}

}  // namespace attn::test
