// Models with string inputs, as a user runs them.
#include "../text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "../places.h"
#include "attn/io/array_file.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "attn/io/tensor_file.h"
#include "attn/io/zip.h"
#include "program.h"

using attn::test::contains;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

std::string text_case(const std::string& path) { return attn::test::in_repository("tests/data/text/") + path; }

}  // namespace

TEST_CASE("text: run reads strings from a text file and JSON, and reports the file") {
  const TemporaryFolder folder;
  const std::string lines = folder.file("two.txt", "The dog sat on a mat\nthe end\n");
  const std::string list = folder.file("two.json", R"({"text": ["The dog sat on a mat", "the end"]})");
  const auto run = [](const std::string& input) {
    return json::parse(run_attn({"run", text_case("classifier/model.keras"), "--input", input, "--json"}).out);
  };
  const json a = run(lines), b = run(list), c = run("text=" + lines);
  CHECK(a["inputs"][0]["name"] == "vectorize");
  CHECK(a["inputs"][0]["shape"] == json::array({2, 6}));
  CHECK(a["inputs"][0]["source"] == lines);
  CHECK(a["outputs"][0]["sha256"] == b["outputs"][0]["sha256"]);
  CHECK(a["outputs"][0]["sha256"] == c["outputs"][0]["sha256"]);
}

TEST_CASE("text: run agrees with Keras on strings of .npz, and --output-dir runs such files too") {
  const TemporaryFolder folder;
  for (const char* name : {"weighed", "nested", "layers", "integers", "hashes", "decoded", "named"}) {
    CAPTURE(name);
    const Result result = run_attn({"run", text_case(name + std::string("/model.keras")), "--input",
                                    text_case(name + std::string("/inputs.npz")), "--expect",
                                    text_case(name + std::string("/outputs.npz"))});
    CHECK_MESSAGE(result.code == 0, result.out << result.err);
  }
  CHECK(run_attn({"run", text_case("weighed/model.keras"), "--input", text_case("weighed/inputs.npz"), "--output-dir",
                  folder / "out"})
            .code == 0);
}

TEST_CASE("text: unused strings are rejected in one sentence") {
  const TemporaryFolder folder;
  const std::string lines = folder.file("a.txt", "one\n"),
                    named = folder.file("a.json", R"({"txt": ["one"], "zzz": ["two"]})");
  const auto said = [](const std::string& model, const std::string& input) {
    const Result result = run_attn({"run", model, "--input", input});
    CHECK(result.code == 3);
    return result.err;
  };
  const std::string classifier = text_case("classifier/model.keras"), layers = text_case("layers/model.keras");
  CHECK(contains(said("configs/encoder.json", lines), "contains strings, but the model's inputs are numbers"));
  CHECK(contains(said(classifier, named), "the model has no string input 'txt' (did you mean 'text'?)"));
  CHECK(contains(said(layers, lines), "the input for its strings is ambiguous: give --input NAME=FILE"));
  CHECK(contains(said(layers, "row=" + lines), "the input 'row' has the shape (None, 4), but its strings have (1,)"));
  CHECK(contains(said(classifier, "src/cli/commands/demo/word.npy"),
                 "the input 'text' takes strings, but its array is int32"));
}

TEST_CASE("text: the labels of a heatmap are the terms that the model sees") {
  const TemporaryFolder folder;
  const std::string lines = folder.file("a.txt", "The dog sat, zebra\n");
  const Result result = run_attn({"heatmap", text_case("classifier/model.keras"), "--input", lines});
  CHECK(result.code == 0);
  for (const char* label : {"the", "dog", "sat", "[UNK]"}) CHECK(contains(result.out, label));
  CHECK(!contains(result.out, "zebra"));
}

TEST_CASE("text: numbers of an input are hashed, and computed numbers are rejected") {
  const TemporaryFolder folder;
  const auto model = [](const std::string& reader, const std::string& between) {
    const std::string tensor = R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 1], "dtype": "int64",
      "keras_history": [")";
    return R"({"class_name": "Functional", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "name": "a", "config": {"name": "a", "batch_shape": [null, 1], "dtype": "int64"},
       "inbound_nodes": []},
      {"class_name": "Hashing", "name": "first", "config": {"name": "first", "num_bins": 5},
       "inbound_nodes": [{"args": [)" +
           tensor + R"(a", 0, 0]}}], "kwargs": {}}]},
      {"class_name": "Hashing", "name": "second", "config": {"name": "second", "num_bins": 5},
       "inbound_nodes": [{"args": [)" +
           tensor + between + R"(", 0, 0]}}], "kwargs": {}}]}],
      "input_layers": [["a", 0, 0]], "output_layers": [[")" +
           reader + R"(", 0, 0]]}})";
  };
  CHECK(run_attn({"run", folder.file("fine.json", model("second", "a"))}).code == 0);
  const Result refused = run_attn({"run", folder.file("twice.json", model("second", "first"))});
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "it hashes the result of 'first'; only inputs can be hashed"));
  const Result one =
      run_attn({"run", text_case("hashes/model.keras"), "--input", "number=src/cli/commands/demo/word.npy"});
  CHECK(one.code == 3);
  CHECK(contains(one.err, "it crosses number, small, but some of these are missing"));
}

TEST_CASE("text: compare reads strings from the --expect file, beside outputs of Keras's layers") {
  const TemporaryFolder folder;
  const std::string both = folder / "both.npz";
  const auto archive = [&](const std::string& name) { return attn::io::read_file(text_case("classifier/" + name)); };
  const attn::io::Bytes inputs = archive("inputs.npz"), outputs = archive("outputs.npz");
  attn::io::AtomicFile file(both);
  attn::io::ZipWriter zip(file);
  for (const attn::io::Bytes& part : {inputs, outputs}) {
    const attn::io::ZipReader reader(part, "part");
    for (const attn::io::ZipMember& member : reader.members())
      zip.add(member.name, {reader.read(member, 1 << 20).span()});
  }
  zip.finish();
  file.commit();
  const Result result = run_attn({"compare", text_case("classifier/model.keras"), "--expect", both});
  CHECK_MESSAGE(result.code == 0, result.out << result.err);
  CHECK(contains(result.out, "output "));
  CHECK(contains(run_attn({"compare", "--print-keras-script"}).out, "takes strings"));
}

TEST_CASE("text: the labels of a heatmap are the tokens of the model's tokenizer") {
  const TemporaryFolder folder;
  const std::string preset = attn::test::in_repository("tests/data/generation/gpt2/preset");
  const json tokens =
      json::parse(run_attn({"tokenize", preset, "--text", "the model reads", "--json"}).out)["results"][0];
  const auto count = static_cast<attn::Dim>(tokens["ids"].size());
  const attn::Tensor ids(attn::DType::int32, {1, count}), mask(attn::DType::int32, {1, count});
  for (attn::Dim i = 0; i < count; ++i) {
    ids.set(i, tokens["ids"][static_cast<std::size_t>(i)].get<double>());
    mask.set(i, 1);
  }
  const std::vector<attn::NamedTensor> arrays{{"token_ids", ids}, {"padding_mask", mask}};
  attn::io::write_tensors(folder / "ids.npz", arrays);
  const Result result =
      run_attn({"heatmap", preset, "--input", folder / "ids.npz", "--layer", "0", "--head", "0", "--format", "svg"});
  CHECK_MESSAGE(result.code == 0, result.err);
  for (const json& token : tokens["tokens"]) CHECK(contains(result.out, ">" + token.get<std::string>() + "<"));
}

TEST_CASE("text: saved models keep the vocabulary, and training reads strings") {
  const TemporaryFolder folder;
  const std::string input = text_case("weighed/inputs.npz"), expected = text_case("weighed/outputs.npz");
  const std::string copy = folder / "copy.keras";
  CHECK(run_attn({"convert", text_case("weighed/model.keras"), copy}).code == 0);
  CHECK(run_attn({"run", copy, "--input", input, "--expect", expected}).code == 0);
  const Result trained = run_attn({"grad", text_case("weighed/model.keras"), "--data", input, "--loss", "mse"});
  CHECK_MESSAGE(trained.code == 0, trained.err);
}

TEST_CASE("text: string outputs are printed, written for NumPy, and compared one by one") {
  const TemporaryFolder folder;
  const std::string model = text_case("named/model.keras"), inputs = text_case("named/inputs.npz");
  const std::string out = folder / "out.npz";
  const Result table = run_attn({"run", model, "--input", inputs, "-o", out});
  CHECK(table.code == 0);
  CHECK(contains(table.out, "word    (3,)   string     -        -    -    -  '[UNK]' 'a b' 'é'"));
  const attn::io::Arrays written = attn::io::read_arrays(out);
  REQUIRE(written.texts.size() == 1);
  CHECK(written.texts[0].texts.values == std::vector<std::string>{"[UNK]", "a b", "é"});
  CHECK(written.tensors.size() == 1);

  const json told = json::parse(run_attn({"run", model, "--input", inputs, "--json"}).out);
  const json& word = told["outputs"][1];
  CHECK(word["dtype"] == "string");
  CHECK(word["mean"].is_null());
  CHECK(word["strings"] == json::array({"[UNK]", "a b", "é"}));

  const std::string others = folder.file("others.json", R"({"word": ["[UNK]", "ab", "e"]})");
  const Result differs = run_attn({"run", model, "--input", inputs, "--expect", others});
  CHECK(differs.code == 1);
  CHECK(contains(differs.out, "word: 2 of 3 strings differ, the first at [1]: expected 'ab', got 'a b'"));
  CHECK(contains(differs.out, "twice: the expected file has no array of this name"));
}

TEST_CASE("text: string outputs of many files are joined from their batches") {
  const TemporaryFolder folder;
  const Result run = run_attn({"run", text_case("named/model.keras"), "--input", text_case("named/inputs.npz"),
                               "--batch-size", "2", "--output-dir", folder / "out"});
  CHECK_MESSAGE(run.code == 0, run.err);
  const attn::io::Arrays written = attn::io::read_arrays(folder / "out/inputs.npz");
  REQUIRE(written.texts.size() == 1);
  CHECK(written.texts[0].texts.values == std::vector<std::string>{"[UNK]", "a b", "é"});
}

TEST_CASE("text: string outputs are rejected in one sentence where they are unsupported") {
  const TemporaryFolder folder;
  const std::string model = text_case("named/model.keras"), inputs = text_case("named/inputs.npz");
  const auto said = [](const std::vector<std::string>& words) {
    const Result result = run_attn(words);
    CHECK(result.code != 0);
    return result.err;
  };
  CHECK(contains(said({"convert", model, folder / "m.onnx"}),
                 "the output 'word' contains strings, which the ONNX export does not support"));
  CHECK(contains(said({"run", model, "--input", inputs, "-o", folder / "o.safetensors"}),
                 "'word' contains strings, which .safetensors cannot store; use .npz"));
  CHECK(contains(said({"compare", model, "--expect", inputs}),
                 "the output 'word' contains strings; compare them with 'attn run --expect'"));
  const std::string back = R"({"class_name": "StringLookup", "config": {"name": "back", "invert": true%}})";
  const auto of = [&](std::string vocabulary, const std::string& then) {
    std::string layer = back;
    layer.replace(layer.find('%'), 1, vocabulary);
    return folder.file("m.json", R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "dtype": "int64", "name": "ids"}}, )" +
                                     layer + then + "]}}");
  };
  CHECK(contains(said({"run", of("", "")}), "its vocabulary is missing"));
  const std::string words = R"(, "vocabulary": ["a", "b"])";
  CHECK(run_attn({"run", of(words, "")}).code == 0);
  CHECK(
      contains(said({"run", of(words, R"(, {"class_name": "Rescaling", "config": {"scale": 2.0, "name": "twice"}})")}),
               "'twice' computes with strings"));
  CHECK(contains(said({"run", of(words, R"(, {"class_name": "Hashing", "config": {"num_bins": 3, "name": "hash"}})")}),
                 "it hashes numbers that the model computes"));
}
