// Reads exported ONNX files. tests/oracle/check_onnx.py compares ONNX Runtime's results for them with Keras's.
#include "attn/onnx/export.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "../capture.h"
#include "../places.h"
#include "attn/base/error.h"
#include "attn/io/file.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/model.h"
#include "attn/open/model_file.h"
#include "attn/weights/bind.h"
#include "reader.h"
#include "sizes.h"

namespace {

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

/// Reads the model, including the quantization of layers inside layers that its file shows.
keras::Model model_of(const fs::path& path) {
  open::ModelText text = open::read_model_file(path.string());
  return keras::Model::read(text.name, std::move(text.text), text.options);
}

onnx::Samples samples_of(const keras::Model& model) {
  keras::LowerOptions symbolic;
  symbolic.symbolic = true;
  const graph::Graph graph = model.lower(symbolic);
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  for (const graph::ValueId id : graph.inputs) {
    names.push_back(graph.value(id).name);
    shapes.push_back(graph.value(id).shape);
  }
  return onnx::sample(names, shapes, [&](const std::vector<Shape>& all) {
    keras::LowerOptions options;
    for (std::size_t i = 0; i < all.size(); ++i) options.input_shapes[names[i]] = all[i];
    return model.lower(options);
  });
}

/// Samples at the sizes of a case's inputs, which are in the model's order if their names differ.
onnx::Samples samples_at(const keras::Model& model, const fs::path& inputs) {
  const std::vector<NamedTensor> arrays = io::read_tensors(inputs.string());
  onnx::Samples out;
  keras::LowerOptions options;
  for (const NamedTensor& array : arrays) options.input_shapes[array.name] = array.tensor.shape();
  out.base = model.lower(options);
  return out;
}

fs::path fixture_model(const std::string& name) { return in_repository("tests/data/keras/" + name) + "/model.keras"; }

/// A folder of this process, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("attn_onnx_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
};

std::string bytes_in(const fs::path& path) {
  const io::Bytes file = io::read_file(path.string());
  return std::string(file.text());
}

/// Writes a model to a file and reads it back.
struct Written {
  Folder folder;
  std::vector<Tensor> weights;
  std::vector<graph::WeightSpec> specs;
  ProtoMessage graph;
  std::uint64_t opset = 0;

  explicit Written(const std::string& name, int opset_wanted = onnx::kNewestOpset,
                   std::int64_t most_inside = 2'000'000'000) {
    const fs::path path = fixture_model(name);
    const keras::Model model = model_of(path);
    specs = model.weights();
    weights = weights::bind(specs, path.string());
    const std::string out = folder.path / "model.onnx";
    onnx::write_model(out, onnx::export_model(samples_of(model), weights, opset_wanted), "1.2.3", most_inside);
    const ProtoMessage file = read_proto(bytes_in(out));
    CHECK(file.text(2) == "attn");
    CHECK(file.text(3) == "1.2.3");
    opset = file.messages(field::kModelOpset).at(0).number(field::kOpsetVersion);
    graph = file.messages(field::kModelGraph).at(0);
  }

  [[nodiscard]] std::multiset<std::string> operators() const {
    std::multiset<std::string> out;
    for (const ProtoMessage& node : graph.messages(field::kGraphNode)) out.insert(node.text(field::kNodeOp));
    return out;
  }
  [[nodiscard]] std::optional<ProtoMessage> initializer(const std::string& name) const {
    for (const ProtoMessage& tensor : graph.messages(field::kGraphInitializer))
      if (tensor.text(field::kTensorName) == name) return tensor;
    return std::nullopt;
  }
};

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

}  // namespace

TEST_CASE("onnx: weights are in the file under Keras's paths, byte for byte") {
  const Written written("model/nested");
  REQUIRE(!written.specs.empty());
  for (std::size_t i = 0; i < written.specs.size(); ++i) {
    CAPTURE(written.specs[i].path);
    const auto tensor = written.initializer(written.specs[i].path);
    REQUIRE(tensor);
    CHECK(tensor->number(field::kTensorType) == 1);  // float32
    CHECK(tensor->text(field::kTensorRaw) == bytes_of(written.weights[i]));
  }
}

TEST_CASE("onnx: every unary function has a form in every operator set that has its types") {
  for (const graph::UnaryFn fn : graph::kUnaryFns) {
    onnx::Samples samples;
    graph::Builder build(samples.base);
    const bool logical = graph::record_of(fn).inputs == graph::Domain::boolean;
    const graph::ValueId x = build.input("x", logical ? DType::boolean : DType::float32, {2, 3});
    samples.base.outputs = {{"y", build.apply(graph::Unary{fn, 0.5, 0.75, 2.0}, {x})}};
    const int oldest = fn == graph::UnaryFn::float8_e4m3fn ? 19 : onnx::kOldestOpset;
    for (int opset = oldest; opset <= onnx::kNewestOpset; ++opset) {
      CAPTURE(graph::name_of(fn));
      CAPTURE(opset);
      CHECK_NOTHROW((void)onnx::export_model(samples, {}, opset));
    }
  }
}

TEST_CASE("onnx: every name is defined once, and before it is read") {
  for (const char* name : {"model/nested", "model/shared_layers", "rnn/lstm_sequences"}) {
    CAPTURE(name);
    const Written written(name);
    std::set<std::string> known{""};
    for (const ProtoMessage& tensor : written.graph.messages(field::kGraphInitializer))
      CHECK(known.insert(tensor.text(field::kTensorName)).second);
    for (const ProtoMessage& input : written.graph.messages(field::kGraphInput))
      CHECK(known.insert(input.text(1)).second);
    std::set<std::string> nodes;
    for (const ProtoMessage& node : written.graph.messages(field::kGraphNode)) {
      CHECK(nodes.insert(node.text(field::kNodeName)).second);
      if (const auto inputs = node.texts.find(field::kNodeInput); inputs != node.texts.end())
        for (const std::string& input : inputs->second) CHECK(known.contains(input));
      for (const std::string& output : node.texts.at(field::kNodeOutput)) CHECK(known.insert(output).second);
    }
    for (const ProtoMessage& output : written.graph.messages(field::kGraphOutput))
      CHECK(known.contains(output.text(1)));
  }
}

TEST_CASE("onnx: integer weights are stored as integers, and their products are integer products") {
  for (const auto& [name, product] : {std::pair{"dense_int8", "MatMulInteger"}, {"dense_int4_block", "MatMul"}}) {
    CAPTURE_BINDING(name);
    const Written written(std::string("../quantized/") + name);
    for (std::size_t i = 0; i < written.specs.size(); ++i) {
      if (written.specs[i].dtype != DType::int8) continue;
      const auto tensor = written.initializer(written.specs[i].path);
      REQUIRE(tensor);
      CHECK(tensor->number(field::kTensorType) == 3);  // int8
      CHECK(tensor->text(field::kTensorRaw) == bytes_of(written.weights[i]));
    }
    CHECK(written.operators().contains(product));
  }
}

TEST_CASE("onnx: attention is one operator in operator set 23, and its products in older sets") {
  std::multiset<std::string> operators;
  {
    const Written written("model/nested");
    CHECK(written.opset == 23);
    operators = written.operators();
  }
  const Written older("model/nested", 18);
  CHECK(operators.contains("Attention"));
  CHECK(older.opset == 18);
  CHECK(!older.operators().contains("Attention"));
  CHECK(older.operators().count("Softmax") == operators.count("Softmax") + operators.count("Attention"));
}

TEST_CASE("onnx: open sizes of the model have names, and others are numbers") {
  const Written written("model/nested");
  const std::vector<std::string> in = shape_of(written.graph.messages(field::kGraphInput).at(0));
  CHECK(in.at(0) == "batch");
  CHECK(in.back() == "32");
  CHECK(shape_of(written.graph.messages(field::kGraphOutput).at(0)).at(0) == "batch");
}

TEST_CASE("onnx: weights too large for one file are stored beside it") {
  const Written written("model/nested", onnx::kNewestOpset, 1000);
  const std::string data = bytes_in(written.folder.path / "model.onnx.data");
  int outside = 0;
  for (std::size_t i = 0; i < written.specs.size(); ++i) {
    const auto tensor = written.initializer(written.specs[i].path);
    REQUIRE(tensor);
    if (!tensor->texts.contains(field::kTensorExternal)) continue;
    std::map<std::string, std::string> entries;
    for (const ProtoMessage& entry : tensor->messages(field::kTensorExternal)) entries[entry.text(1)] = entry.text(2);
    CHECK(entries.at("location") == "model.onnx.data");
    CHECK(!tensor->texts.contains(field::kTensorRaw));
    const auto offset = std::stoull(entries.at("offset")), length = std::stoull(entries.at("length"));
    REQUIRE(offset + length <= data.size());
    CHECK(std::string_view(data).substr(offset, length) == bytes_of(written.weights[i]));
    ++outside;
  }
  CHECK(outside >= 5);
}

namespace {

/// The fixtures whose sizes cannot stay open: families with an entry for each position in a table (DeBERTa V3's
/// buckets, rotations, XLNet's distances, F-Net's Fourier matrices, texts of CLIP and SigLIP, sounds of Whisper and
/// Moonshine), models whose lengths depend on each other, as prompts and images of SAM and Gemma 4, and attention over
/// the batch.
bool has_fixed_sizes(const fs::path& path) {
  static constexpr std::array kNames{"clip",          "metaclip_2",
                                     "siglip",        "sam",
                                     "deberta_v3",    "esm",
                                     "f_net",         "gemma3",
                                     "gpt_oss",       "qwen",
                                     "roformer_v2",   "t5gemma",
                                     "xlnet",         "attention_over_rows",
                                     "hub_positions", "merge",
                                     "conv_lstm",     "symbolic_shapes",
                                     "pali_gemma",    "whisper",
                                     "moonshine",     "blip2",
                                     "video_prism",   "gemma4_vision",
                                     "gemma4_audio",  "gemma4_images_and_sounds"};
  const std::string name = path.parent_path().filename();
  return std::ranges::any_of(kNames, [&](const char* prefix) { return name.starts_with(prefix); });
}

}  // namespace

TEST_CASE("onnx: every model of the fixtures can be exported to the oldest and the newest operator set") {
  int exported = 0;
  std::vector<fs::path> paths;
  for (const char* folder : {"tests/data/keras", "tests/data/quantized"})
    for (const auto& entry : fs::recursive_directory_iterator(in_repository(folder)))
      if (entry.path().filename() == "model.keras") paths.push_back(entry.path());
  for (const fs::path& path : paths) {
    CAPTURE(path.string());
    const keras::Model model = model_of(path);
    const std::vector<Tensor> weights = weights::bind(model.weights(), path.string());
    const bool of_float8 = path.string().find("float8") != std::string::npos;  // available since operator set 19
    const auto export_at = [&](const onnx::Samples& samples) {
      for (const int opset : {of_float8 ? 19 : onnx::kOldestOpset, onnx::kNewestOpset})
        static_cast<void>(onnx::export_model(samples, weights, opset));
    };
    try {
      export_at(samples_of(model));
    } catch (const Error& error) {
      const std::string field = error.field();
      CHECK((field == "sequence_length" || field == "batch"));
      CHECK(has_fixed_sizes(path));
      CHECK_NOTHROW(export_at(samples_at(model, path.parent_path() / "inputs.npz")));
    }
    ++exported;
  }
  CHECK(exported > 150);
}

TEST_CASE("onnx: an operation without a counterpart is named with its layer") {
  onnx::Samples samples;
  graph::Builder b(samples.base);
  samples.base.layers.push_back({"noise", "Dropout", {}, graph::kNone});
  b.set_layer(0);
  const graph::ValueId x = b.input("x", DType::float32, Shape{2, 3});
  const graph::ValueId count = b.input("count", DType::int64, Shape{});
  samples.base.inputs = {x, count};
  samples.base.outputs.push_back({"output_0", b.apply(graph::Dropout{0.5, 1, Shape{2, 3}}, {x, count})});
  CHECK_THROWS_WITH_AS(static_cast<void>(onnx::export_model(samples, {})),
                       "'noise' (Dropout): ONNX has no equivalent of the operation dropout", Error);
}

TEST_CASE("onnx: a size is derived from lengths by a factor and an offset, or as a product") {
  onnx::Samples samples;
  samples.lengths = {{"batch", 0, 0}, {"steps", 0, 1}};
  samples.base_lengths = {2, 64};
  samples.other_lengths = {{3, 64}, {2, 65}, {4, 66}};
  const auto graph_with = [](const std::vector<std::int64_t>& lengths) {
    const std::int64_t batch = lengths[0], steps = lengths[1];
    graph::Graph graph;
    graph::Value value;
    value.shape = Shape{7, batch, 3 * steps - 5, 4 * batch * steps, steps * steps, batch + steps};
    graph.values.push_back(value);
    return graph;
  };
  samples.base = graph_with(samples.base_lengths);
  for (const auto& lengths : samples.other_lengths) samples.others.push_back(graph_with(lengths));
  const auto size = [&](int axis) {
    return onnx::fit(samples, [&](const graph::Graph& graph) { return graph.values[0].shape[axis]; });
  };
  CHECK(size(0) == onnx::Size::of(7));
  CHECK(size(1) == onnx::Size{1, {0}, 0});
  CHECK(size(2) == onnx::Size{3, {1}, -5});
  CHECK(size(3) == onnx::Size{4, {0, 1}, 0});
  CHECK(!size(4));
  CHECK(!size(5));
}
