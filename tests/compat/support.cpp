#include "support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "../largest.h"
#include "../places.h"
#include "attn/backends/registry.h"
#include "attn/io/tensor_file.h"
#include "attn/run/inputs.h"
#include "attn/run/session.h"
#include "attn/weights/bind.h"

namespace attn::test {

namespace fs = std::filesystem;

std::vector<fs::path> cases(const std::string& group) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(in_repository("tests/data")) / group))
    if (entry.is_directory()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path.string());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

open::LoadedModel load(const fs::path& path) {
  return open::load_model(path.string(), open::ReadingOptions{}, open::Silent());
}

void check_outputs(const fs::path& file, const std::string& backend_name, double relative, const std::string& weights) {
  CAPTURE(file.string());
  CAPTURE(backend_name);
  const fs::path folder = file.parent_path();
  const open::LoadedModel loaded = load(file);
  const auto given =
      run::name_inputs(loaded.model.input_names(), io::read_tensors((folder / "inputs.npz").string()), "inputs.npz");
  keras::LowerOptions options;
  for (const auto& [name, tensor] : given) options.input_shapes.emplace(name, tensor.shape());
  graph::Graph graph = loaded.model.lower(options);
  graph::verify(graph);
  const std::vector<Tensor> inputs = run::make_inputs(graph, given, 0);
  REQUIRE((loaded.weights || !weights.empty()));
  std::vector<Tensor> bound = weights::bind(loaded.model.weights(), weights.empty() ? *loaded.weights : weights);
  const auto made = backends::make_backend("cpu", backend_name);
  run::Session session(*made.backend, std::move(graph), std::move(bound), {.threads = 2});
  session.run(inputs);

  std::map<std::string, Tensor> expected;
  for (const NamedTensor& output : io::read_tensors((folder / "outputs.npz").string()))
    expected.emplace(output.name, output.tensor);
  const std::vector<NamedTensor> outputs = session.outputs();
  CHECK(outputs.size() == expected.size());
  for (const NamedTensor& output : outputs) {
    CAPTURE(output.name);
    REQUIRE(expected.contains(output.name));
    const Tensor& wanted = expected.at(output.name);
    CHECK(largest_error(wanted, output.tensor) <= relative * std::max(1.0, largest(wanted)));
  }
}

}  // namespace attn::test
