// From a config to a session, with a listener for what happens on the way.
#include "attn/open/model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/io/array_file.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"

namespace attn::test {
namespace {

/// Keeps what it hears.
class Heard final : public open::Listener {
 public:
  void warn(std::string_view message) const override { warnings.emplace_back(message); }
  void note(std::string_view message) const override { notes.emplace_back(message); }
  std::unique_ptr<open::Work> begin(const std::string& what, double) const override {
    works.push_back(what);
    return std::make_unique<open::Work>();
  }

  mutable std::vector<std::string> warnings, notes, works;
};

constexpr const char* kEncoder =
    R"({"name": "small", "input_shape": [3, 4], "num_layers": 1, "num_heads": 2, "key_dim": 2,
        "intermediate_dim": 4, "units": 4})";

open::LoadedModel small_model(const open::ReadingOptions& how, const open::Listener& listener) {
  return open::load_model(open::ModelText{"small.json", kEncoder, {}, {}}, how, listener);
}

}  // namespace

TEST_CASE("open: a sequence length that the model fixes is a warning about the field") {
  const Heard heard;
  const open::LoadedModel fixed = open::load_model(
      std::optional<std::string>(in_repository("configs/encoder_keras.json")), open::ReadingOptions{}, heard);
  open::warn_of_fixed_lengths(fixed.model, 7, heard);
  REQUIRE(heard.warnings.size() == 1);
  CHECK(heard.warnings[0].starts_with("`sequence_length` 7 has no effect"));
}

TEST_CASE("open: grids that do not fit the patches of images are an error with the input and its file") {
  const std::string folder = in_repository("tests/data/keras/families/qwen3_5_vision/");
  const Heard heard;
  const open::LoadedModel loaded =
      open::load_model(std::optional<std::string>(folder + "model.keras"), open::ReadingOptions{}, heard);
  const auto with_grid = [&](double rows, double columns) {
    io::Arrays arrays = io::read_arrays(folder + "inputs.npz");
    for (NamedTensor& array : arrays.tensors) {
      if (array.name != "image_grid_thw") continue;
      array.tensor.set(1, rows);
      array.tensor.set(2, columns);
    }
    return open::name_inputs(loaded.model, arrays, "x.npz");
  };
  CHECK_NOTHROW((void)with_grid(2, 4));
  CHECK_NOTHROW((void)with_grid(4, 2));
  const auto refused = [&](double rows, double columns, const char* part) {
    CAPTURE(rows);
    CHECK_THROWS_WITH_AS((void)with_grid(rows, columns), doctest::Contains(part), Error);
  };
  refused(2, 6, "x.npz: the input 'image_grid_thw' has grids of 52 patches, but 'pixel_values' has 48");
  refused(8, 1, "x.npz: the input 'image_grid_thw' has the grid (1, 8, 1): give frames, and rows and columns that are");
  refused(-2, -4, "has the grid (1, -2, -4)");
}

TEST_CASE("open: a session runs with random weights, and the listener is informed of the work") {
  const Heard heard;
  const open::LoadedModel loaded = small_model({}, heard);
  open::Execution execution;
  execution.backend = "reference";
  const auto backend = open::open_backend(execution.device, execution.backend, heard);
  const graph::Graph graph = loaded.model.lower({});
  run::Session session = open::prepare_session(*backend, graph, open::load_weights(loaded, execution, heard),
                                               execution.compile_options(), heard);
  open::run_session(session, run::make_inputs(graph, {}, 0), heard);
  CHECK(session.outputs().at(0).tensor.shape() == Shape{1, 3, 4});
  CHECK(heard.works == std::vector<std::string>{"drawing weights", "preparing", "running"});
  CHECK(open::weights_origin(loaded, execution) == "random, seed 0");
}

TEST_CASE("open: int8 weights are quantized while they are read, and take fewer bytes") {
  const open::Silent silent;
  open::Execution execution;
  execution.dtype = "int8";
  CHECK(open::is_quantization(execution.dtype));
  const open::LoadedModel loaded = small_model(execution.reading(), silent);
  REQUIRE(loaded.floats != nullptr);
  const std::vector<Tensor> weights = open::load_weights(loaded, execution, silent);
  CHECK(std::ranges::any_of(weights, [](const Tensor& weight) { return weight.dtype() == DType::int8; }));
}

TEST_CASE("open: a pass above the memory limit is an error that names a batch that fits") {
  const open::Silent silent;
  const open::LoadedModel loaded = small_model({}, silent);
  open::Execution execution;
  execution.memory_limit = run::current_memory() + (std::int64_t{64} << 20);
  const auto backend = open::open_backend("cpu", "reference", silent);
  keras::LowerOptions lower;
  lower.batch = 10'000'000;
  try {
    (void)open::require_memory(loaded, lower, loaded.model.lower(lower), *backend, execution);
    FAIL("it fits");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_memory);
    CHECK(std::string(error.what()).find("the rest of `memory_limit`") != std::string::npos);
    CHECK(std::string(error.what()).find("`batch` ") != std::string::npos);
  }
}

}  // namespace attn::test
