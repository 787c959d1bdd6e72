// Models that read strings, as Keras saved them and with Keras's results (tests/oracle/make_text_cases.py).
#include <sstream>

#include "attn/io/array_file.h"
#include "attn/io/atomic_file.h"
#include "attn/io/file.h"
#include "attn/io/hdf5.h"
#include "attn/io/keras_archive.h"
#include "support.h"

using namespace attn;

namespace {

using test::refusal;
using test::TemporaryFolder;

std::string text_case(const std::string& path) { return test::in_repository("tests/data/text/") + path; }

std::map<std::string, Tensor> encoded(const Model& model, const std::string& file) {
  io::Arrays arrays = io::read_arrays(file);
  std::map<std::string, TextArray> texts;
  for (NamedTexts& array : arrays.texts) texts.emplace(array.name, std::move(array.texts));
  std::map<std::string, Tensor> out = model.encode_texts(texts);
  for (NamedTensor& array : arrays.tensors) out.emplace(array.name, array.tensor);
  return out;
}

std::vector<NamedTensor> run(const Model& model, const std::map<std::string, Tensor>& inputs) {
  RunOptions options;
  for (const auto& [name, tensor] : inputs) options.input_shapes.emplace(name, tensor.shape());
  std::vector<NamedTensor> out;
  for (const NamedTensor& each : model.prepare(options).run(inputs))
    out.push_back({each.name, each.tensor.cast(each.tensor.dtype())});
  return out;
}

/// The archive of a case with another vocabulary for `layer`.
std::string with_vocabulary(const std::string& name, const std::string& layer, const std::string& text,
                            const TemporaryFolder& folder) {
  const std::string from = text_case(name + "/model.keras");
  const io::Bytes file = io::read_file(from);
  io::KerasArchive archive = io::parse_keras_archive(file, from);
  archive.assets.push_back(
      {"assets/layers/" + layer + "/vocabulary.txt", io::Bytes::copy_of(std::as_bytes(std::span(text)))});
  const std::string path = folder / "changed.keras";
  io::AtomicFile out(path);
  io::write_keras_archive(out, archive, io::read_hdf5(*archive.weights, from));
  out.commit();
  return path;
}

}  // namespace

TEST_CASE("texts: models that read strings compute Keras's results and have Keras's summaries") {
  for (const char* name : {"classifier", "weighed", "nested", "layers", "integers"}) {
    CAPTURE(name);
    const Model model = Model::open(text_case(name + std::string("/model.keras")));
    CHECK(model.summary(80) == test::text_of(text_case(name + std::string("/summary.txt"))));
    const std::vector<NamedTensor> outputs = run(model, encoded(model, text_case(name + std::string("/inputs.npz"))));
    const std::vector<NamedTensor> expected = io::read_tensors(text_case(name + std::string("/outputs.npz")));
    REQUIRE(outputs.size() == expected.size());
    std::map<std::string, Tensor> by_name;
    for (const NamedTensor& each : expected) by_name.emplace(each.name, each.tensor);
    for (const NamedTensor& output : outputs) {
      CAPTURE(output.name);
      const Tensor& wanted = by_name.at(output.name);
      REQUIRE(output.tensor.shape() == wanted.shape());
      for (std::int64_t i = 0; i < wanted.size(); ++i)
        CHECK((std::isnan(wanted.at(i)) ? std::isnan(output.tensor.at(i))
                                        : output.tensor.at(i) == doctest::Approx(wanted.at(i)).epsilon(1e-5)));
    }
  }
}

TEST_CASE("texts: a model that reads strings runs on random integers if it gets none") {
  const Model model = Model::open(text_case("classifier/model.keras"));
  CHECK(model.input_names() == std::vector<std::string>{"text"});
  CHECK(model.text_input_names() == std::vector<std::string>{"text"});
  const std::vector<NamedTensor> outputs = run(model, {});
  CHECK(outputs.at(0).tensor.shape() == Shape{1, 3});
}

TEST_CASE("texts: a config without a vocabulary is an error only if strings are given") {
  const io::Bytes file = io::read_file(text_case("classifier/model.keras"));
  const Model model = Model::parse("m.json", io::parse_keras_archive(file, "m").config);
  CHECK(model.summary(80) == test::text_of(text_case("classifier/summary.txt")));
  CHECK(
      refusal([&] { encoded(model, text_case("classifier/inputs.npz")); }) ==
      "'vectorize': its vocabulary is missing: a config does not contain the result of adapt(); open the .keras file");
}

TEST_CASE("texts: an invalid vocabulary is rejected with its place in the archive") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& name, const std::string& layer, const std::string& text) {
    const std::string path = with_vocabulary(name, layer, text, folder);
    const std::string message = refusal([&] { static_cast<void>(Model::open(path)); });
    REQUIRE(message.starts_with(path + ":assets/layers/" + layer + "/"));
    return message.substr(message.find("vocabulary.txt"));
  };
  const std::string layer = "text_vectorization";
  CHECK(said("classifier", layer, "\n[UNK]\ncat\ncat\n") ==
        "vocabulary.txt: the term 'cat' occurs twice in the vocabulary");
  CHECK(said("classifier", layer, "") == "vocabulary.txt: a vocabulary cannot be empty");
  CHECK(said("classifier", layer, "cat\n\ndog") ==
        "vocabulary.txt: the mask token '' is among the terms; it must precede them, or be omitted");
  CHECK(said("classifier", layer, "\xff") == "vocabulary.txt: not UTF-8");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "t" + std::to_string(i) + "\n";
  CHECK(said("classifier", layer, many) ==
        "vocabulary.txt: the vocabulary has 32 indices, but 'max_tokens' allows only 24");
  CHECK(said("weighed", layer, "[UNK]\ncat") ==
        "vocabulary.txt: the vocabulary has 2 indices, but the layer was built with 36");
  CHECK(said("integers", "integer_lookup", "-1\n7\nx") == "vocabulary.txt: line 3: expected an integer, got 'x'");
}

TEST_CASE("texts: strings of the wrong shape are rejected") {
  const Model model = Model::open(text_case("classifier/model.keras"));
  CHECK(model.encode_texts({{"text", {{2}, {"the cat", "a dog"}}}}).at("vectorize").shape() == Shape{2, 6});
  CHECK(refusal([&] {
          static_cast<void>(model.encode_texts({{"text", {{1, 2}, {"a", "b"}}}}));
        }) == "the input 'text' has the shape (None, 1), but its strings have (1, 2)");
  CHECK(refusal([&] {
          static_cast<void>(model.encode_texts({{"words", {{1}, {"a"}}}}));
        }) == "the model has no input 'words'");
}
