#include "generation_cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "../largest.h"
#include "../places.h"
#include "attn/io/tensor_file.h"
#include "attn/run/inputs.h"
#include "attn/run/session.h"
#include "attn/weights/bind.h"

namespace attn::test {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path.string());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

json read_json(const fs::path& path) { return json::parse(read_text(path)); }

std::map<std::string, Tensor> read_arrays(const fs::path& path) {
  std::map<std::string, Tensor> out;
  for (const NamedTensor& item : io::read_tensors(path.string())) out.emplace(item.name, item.tensor);
  return out;
}

double PresetCase::tolerance(const std::string& result, const Tensor& expected) const {
  if (is_quantized()) return (meta["traits"]["quantize"] == "int8" ? 1.0 / 127.0 : 2e-5) * largest(expected);
  const double single = 1e-6 * largest(expected);
  if (!is_half()) return std::max(single, 4.0 * meta["float32_error"].at(result).get<double>());
  return std::max(single, 2.0 * largest_error(expected, read_arrays(path / "backbone_keras.npz").at(result)));
}

namespace {

PresetCase open_case(const fs::path& path) {
  const auto read = [&](const char* file) {
    const fs::path at = path / "preset" / file;
    return keras::Model::read(at.string(), read_text(at));
  };
  PresetCase out{path, path.filename(), read("config.json"), read("task.json"), {}, read_json(path / "meta.json")};
  out.weights = weights::bind(out.backbone.weights(), (path / "preset/model.weights.h5").string());
  return out;
}

std::map<std::string, Tensor> run(const keras::Model& model, const PresetCase& preset, const backends::Backend& backend,
                                  const std::map<std::string, Tensor>& inputs) {
  keras::LowerOptions options;
  for (const auto& [name, tensor] : inputs) options.input_shapes.emplace(name, tensor.shape());
  graph::Graph graph = model.lower(options);
  graph::verify(graph);
  const std::vector<Tensor> arrays = run::make_inputs(graph, inputs, 0);
  run::Session session(backend, std::move(graph), preset.weights, {.threads = 2});
  session.run(arrays);
  std::map<std::string, Tensor> out;
  for (const NamedTensor& item : session.outputs()) out.emplace(item.name, item.tensor.cast(item.tensor.dtype()));
  return out;
}

}  // namespace

const std::vector<PresetCase>& preset_cases() {
  static const std::vector<PresetCase> cases = [] {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(in_repository("tests/data/generation")))
      if (fs::exists(entry.path() / "outputs.json")) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<PresetCase> out;
    for (const fs::path& path : paths) {
      out.push_back(open_case(path));
    }
    return out;
  }();
  return cases;
}

std::map<std::string, Tensor> run_backbone(const PresetCase& preset, const backends::Backend& backend,
                                           const std::map<std::string, Tensor>& inputs) {
  std::map<std::string, Tensor> out = run(preset.backbone, preset, backend, inputs);
  if (auto only = out.extract("output_0")) {
    only.key() = "hidden";
    out.insert(std::move(only));
  }
  return out;
}

Tensor run_task(const PresetCase& preset, const backends::Backend& backend,
                const std::map<std::string, Tensor>& inputs) {
  return run(preset.task, preset, backend, inputs).begin()->second;
}

generate::CachedDecoder decoder_of(const PresetCase& preset, const backends::Backend& backend,
                                   generate::CachedDecoderOptions options) {
  const auto lower = [&preset](const generate::StepShape& shape) {
    keras::LowerOptions lowering;
    lowering.decode.emplace();
    lowering.decode->rows = shape.rows;
    lowering.decode->count = shape.count;
    lowering.decode->entries = shape.entries;
    lowering.decode->capacity = shape.capacity;
    lowering.decode->sources = shape.sources;
    lowering.decode->every_position = shape.every_position;
    lowering.decode->hidden = shape.hidden;
    lowering.decode->encoder_entries = shape.encoder_entries;
    lowering.decode->encoder_length = shape.encoder_length;
    lowering.decode->reads_encoder = shape.reads_encoder;
    lowering.decode->keras_hub_step = shape.keras_hub_step;
    return preset.task.lower(lowering);
  };
  return {backend, lower, preset.weights, std::move(options)};
}

}  // namespace attn::test
