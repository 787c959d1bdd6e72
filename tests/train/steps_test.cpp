// Ten steps of a model compared with Keras in float64 (tests/data/training): losses, metrics, learning rates, weights
// and optimizer state.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "../capture.h"
#include "../largest.h"
#include "../places.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/communicators/simulated.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/model.h"
#include "attn/keras/optimizer.h"
#include "attn/train/fit.h"
#include "attn/train/trainer.h"
#include "attn/weights/bind.h"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Arrays = std::map<std::string, Tensor>;

Arrays read_arrays(const fs::path& file) {
  Arrays out;
  for (const NamedTensor& array : io::read_tensors(file.string())) out.emplace(array.name, array.tensor);
  return out;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Rows [n·rows, (n + 1)·rows) of every array.
train::Batch batch_of(const Arrays& data, std::int64_t n, std::int64_t rows) {
  train::Batch out;
  for (const auto& [name, tensor] : data) {
    Shape shape = tensor.shape();
    const std::int64_t row = tensor.bytes() / shape[0];
    shape[0] = rows;
    out.emplace(name, Tensor(tensor.dtype(), shape,
                             std::shared_ptr<std::byte>(tensor.owner(), tensor.data() + n * rows * row)));
  }
  return out;
}

/// Cases of optimizer/ and option/ share a model and data, and have a compile.json.
struct Case {
  fs::path folder;
  std::string archive, compile_config;
  keras::Model model;
  Arrays data;
  json meta;
};

Case read_case(const fs::path& folder) {
  const bool shared = fs::exists(folder / "compile.json");
  const fs::path place = shared ? folder.parent_path().parent_path() / "optimizer" : folder;
  const std::string archive = (place / "start.keras").string();
  std::string text = io::parse_keras_archive(io::read_file(archive), archive).config;
  json config = json::parse(text);
  if (shared) config["compile_config"] = json::parse(read_text(folder / "compile.json"));
  const std::string compiled = config["compile_config"].dump();
  return {folder,
          archive,
          compiled,
          keras::Model::read(archive, shared ? config.dump() : text),
          read_arrays(place / "data.npz"),
          json::parse(read_text(folder / "meta.json"))};
}

keras::LossGraph lower(const keras::Model& model, const train::Batch& batch, bool training) {
  keras::LowerOptions options;
  keras::LossOptions how;
  how.training = how.drops = training;
  how.metrics = true;
  const std::vector<std::string> inputs = model.input_names();
  for (const auto& [name, tensor] : batch) {
    if (std::ranges::find(inputs, name) != inputs.end()) {
      options.input_shapes.emplace(name, tensor.shape());
    } else {
      how.arrays[name] = {tensor.dtype(), tensor.shape()};
    }
  }
  options.batch = batch.begin()->second.shape()[0];
  return model.lower_loss(options, how);
}

/// Four times the error of Keras's own float32 run, or 2e-6 of the array's largest number. For a mixed policy, four
/// times the effect of the policy, because the roundings of both are independent.
double tolerance(const Case& one, const char* errors, const std::string& name, double size) {
  const double single = std::max(4.0 * one.meta[errors].value(name, 0.0), 2e-6 * size);
  return one.meta["policy_error"].is_null() ? single
                                            : std::max(single, 4.0 * one.meta["policy_error"].value(name, 0.0));
}

bool is_undetermined(const Case& one, const std::string& path) {
  for (const std::string& name : one.meta["undetermined"].get<std::vector<std::string>>())
    if (path == name || path.ends_with("/" + name)) return true;
  return false;
}

void check_trace(const Case& one, const Arrays& trace, std::size_t n, const train::StepResult& step,
                 const train::Trainer& trainer) {
  const auto expect = [&](const std::string& name, double value) {
    REQUIRE_MESSAGE(trace.contains(name), name);
    const double expected = trace.at(name).at(static_cast<std::int64_t>(n));
    CHECK_MESSAGE(std::abs(value - expected) <= tolerance(one, "trace_error", name, largest(trace.at(name))),
                  fmt::format("step {} {}: {} is not {}", n, name, value, expected));
  };
  if (trace.contains("dynamic_scale")) {
    expect("dynamic_scale", step.loss_scale);
  } else {
    expect("learning_rate", step.learning_rate);  // the learning rate of a LossScaleOptimizer itself is 0
  }
  expect("loss", step.loss);
  for (std::size_t i = 0; i < trainer.metrics().size(); ++i) {
    const train::Running value{step.metrics[i].total, step.metrics[i].count, trainer.rules()[i]};
    expect(trainer.metrics()[i], value.value());
  }
}

/// An archive contains only the sum with low-rank updates; start.npz then has the parts.
std::vector<Tensor> starting_weights(const Case& one) {
  std::vector<Tensor> out = weights::bind(one.model.weights(), one.archive);
  const fs::path apart = one.folder / "start.npz";
  if (!fs::exists(apart)) return out;
  const Arrays start = read_arrays(apart);
  const std::vector<graph::WeightSpec> specs = one.model.weights();
  for (std::size_t i = 0; i < specs.size(); ++i) out[i] = start.at("start:" + specs[i].path);
  return out;
}

std::vector<Tensor> check_steps(const Case& one, const backends::Backend& backend, int threads,
                                communicators::Communicator* ranks = nullptr, bool shares_optimizer = false,
                                int parts = 0) {
  CAPTURE(one.folder.string());
  const std::int64_t rows = one.meta["batch"];
  train::TrainerOptions options;
  options.compile.threads = threads;
  options.compile.ranks = ranks;
  options.shares_optimizer = shares_optimizer;
  options.parts = parts;
  optimizers::Settings settings = keras::compiled_optimizer(one.compile_config);
  if (one.meta["policy"] == "mixed_float16" && !settings.loss_scale) settings.loss_scale.emplace();
  train::Trainer trainer(
      backend, [&](const train::Batch& batch, bool training) { return lower(one.model, batch, training); },
      one.model.weights(), starting_weights(one), settings, options);
  const Arrays trace = read_arrays(one.folder / "trace.npz"), after = read_arrays(one.folder / "after.npz");
  for (std::int64_t n = 0; n < one.meta["steps"].get<std::int64_t>(); ++n) {
    const train::StepResult step = trainer.step(batch_of(one.data, n, rows));
    check_trace(one, trace, static_cast<std::size_t>(n), step, trainer);
  }
  std::set<std::size_t> loose;  // trained weights whose gradient is 0 except for rounding
  std::size_t trained = 0;
  for (std::size_t i = 0; i < trainer.specs().size(); ++i) {
    const graph::WeightSpec& spec = trainer.specs()[i];
    if (spec.trainable && is_undetermined(one, spec.path)) loose.insert(trained);
    trained += spec.trainable ? 1 : 0;
    if (is_undetermined(one, spec.path)) continue;
    bool found = false;
    for (const auto& [key, expected] : after) {  // paths may lack the name of the enclosing model
      if (!key.starts_with("weight:")) continue;
      const std::string path = key.substr(7);
      if (spec.path != path && !spec.path.ends_with("/" + path)) continue;
      found = true;
      const double error = largest_error(expected, trainer.weights()[i]);
      CAPTURE_BINDING(key);
      CHECK(error <= tolerance(one, "float32_error", key, largest(expected)));
    }
    CHECK_MESSAGE(found, spec.path);
  }
  const std::vector<NamedTensor> state = trainer.optimizer_state();
  UInt128 elements = 0, bytes = 0;
  for (const json& variable : one.meta["optimizer_variables"]) {
    const auto shape = variable["shape"].get<std::vector<std::int64_t>>();
    const auto size = static_cast<UInt128>(Shape(shape).size());
    elements += size;
    bytes += size * static_cast<UInt128>(bytes_of(*dtype_of(variable["dtype"].get<std::string>())));
  }
  if (const auto shown = one.model.summary().optimizer; one.meta["policy"] != "mixed_float16" && shown) {
    CHECK(shown->params == elements);
    CHECK(shown->bytes == bytes);
  }
  CHECK(static_cast<std::size_t>(std::ranges::count_if(
            after, [](const auto& array) { return array.first.starts_with("optimizer:"); })) == state.size());
  const bool has_state = !shares_optimizer || ranks->rank() == 0;  // rank 0 has the whole state
  for (std::size_t i = 0; has_state && i < state.size(); ++i) {
    const std::string key = fmt::format("optimizer:{}", i), path = one.meta["optimizer_variables"][i]["path"];
    bool undetermined = false;
    for (const std::string& name : one.meta["undetermined"].get<std::vector<std::string>>()) {
      std::string flat = name;
      std::ranges::replace(flat, '/', '_');
      undetermined = undetermined || path.find(flat) != std::string::npos;
    }
    // The effect of a mixed policy on moments is unspecified.
    const bool mixed = !one.meta["policy_error"].is_null() && state[i].tensor.shape().rank() > 0;
    if (state[i].tensor.shape().rank() > 0)
      CHECK_MESSAGE(name_of(state[i].tensor.dtype()) == one.meta["optimizer_variables"][i]["dtype"], path);
    if (undetermined || mixed || !after.contains(key)) continue;
    const Tensor& expected = after.at(key);
    REQUIRE(state[i].tensor.shape() == expected.shape());
    const double error = largest_error(expected, state[i].tensor);
    CHECK_MESSAGE(error <= tolerance(one, "float32_error", key, largest(expected)),
                  fmt::format("{} {}: {}", key, path, error));
  }
  return trainer.weights();
}

std::vector<fs::path> case_folders() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(in_repository("tests/data/training")))
    if (entry.path().filename() == "after.npz") out.push_back(entry.path().parent_path());
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("train: random states of recurrent layers advance in an evaluation too, as in Keras") {
  const Case one = read_case(in_repository("tests/data/training/dropout/rnn"));
  const auto backend = backends::make_cpu_backend();
  train::Trainer trainer(*backend,
                         [&](const train::Batch& batch, bool training) { return lower(one.model, batch, training); },
                         one.model.weights(), starting_weights(one), keras::compiled_optimizer(one.compile_config), {});
  const train::Batch batch = batch_of(one.data, 0, one.meta["batch"]);
  static_cast<void>(trainer.step(batch));
  const std::map<std::string, std::int64_t> once = trainer.draws();
  REQUIRE(!once.empty());
  static_cast<void>(trainer.evaluate(batch));
  for (const auto& [layer, count] : trainer.draws()) {
    CAPTURE_BINDING(layer);
    CHECK(count == 2 * once.at(layer));
  }
}

TEST_CASE("train: ten steps are Keras's, on the CPU's kernels") {
  for (const fs::path& folder : case_folders())
    static_cast<void>(check_steps(read_case(folder), *backends::make_cpu_backend(), 2));
}

TEST_CASE("train: ten steps that ranks share by rows are Keras's") {
  const auto backend = backends::make_cpu_backend();
  for (const fs::path& folder : case_folders()) {
    for (const int ranks : {2, 3})
      communicators::run_ranks(ranks, [&](communicators::Communicator& world) {
        CAPTURE(ranks);
        // A model is not thread-safe.
        static_cast<void>(check_steps(read_case(folder), *backend, 1, &world, ranks == 3));
      });
  }
}

TEST_CASE("train: ten steps of a batch in parts are Keras's, with the same bits on every number of ranks") {
  const auto backend = backends::make_cpu_backend();
  for (const fs::path& folder : case_folders()) {
    const std::vector<Tensor> alone = check_steps(read_case(folder), *backend, 1, nullptr, false, 8);
    for (const int ranks : {2, 3})
      communicators::run_ranks(ranks, [&](communicators::Communicator& world) {
        CAPTURE(ranks);
        const std::vector<Tensor> weights = check_steps(read_case(folder), *backend, 1, &world, ranks == 3, 8);
        for (std::size_t i = 0; i < alone.size(); ++i)
          CHECK(std::memcmp(weights[i].data(), alone[i].data(), static_cast<std::size_t>(alone[i].bytes())) == 0);
      });
  }
}

TEST_CASE("train: a transformer block in a mixed policy differs from Keras no more than Keras's execution modes do") {
  for (const char* policy : {"float16", "bfloat16"}) {
    CAPTURE(policy);
    const Case one = read_case(in_repository(std::string("tests/data/training/block/") + policy));
    const Arrays own = read_arrays(one.folder / "keras.npz");
    optimizers::Settings settings = keras::compiled_optimizer(one.compile_config);
    if (one.meta["policy"] == "mixed_float16") settings.loss_scale.emplace();
    const auto backend = backends::make_cpu_backend();
    train::Trainer trainer(*backend,
                           [&](const train::Batch& batch, bool training) { return lower(one.model, batch, training); },
                           one.model.weights(), starting_weights(one), settings, {});
    const std::vector<Tensor> start = starting_weights(one);
    for (std::int64_t n = 0; n < one.meta["steps"].get<std::int64_t>(); ++n) {
      const double error = std::abs(trainer.step(batch_of(one.data, n, one.meta["batch"])).loss - own.at("loss").at(n));
      // The first loss is rounded to half precision where Keras rounds; Keras's graph mode differs by 5e-4.
      CHECK(error <= (n == 0 ? 1e-5 : one.meta["loss"].get<double>()));
    }
    // |weights − Keras's| / |Keras's − the initial ones|, over all weights together.
    double moved = 0.0, apart = 0.0;
    for (std::size_t i = 0; i < trainer.specs().size(); ++i) {
      const auto found = std::ranges::find_if(own, [&](const auto& array) {
        return array.first.starts_with("weight:") && trainer.specs()[i].path.ends_with(array.first.substr(7));
      });
      REQUIRE_MESSAGE(found != own.end(), trainer.specs()[i].path);
      for (std::int64_t k = 0; k < found->second.size(); ++k) {
        moved += std::pow(found->second.at(k) - start[i].at(k), 2);
        apart += std::pow(found->second.at(k) - trainer.weights()[i].at(k), 2);
      }
    }
    CHECK(std::sqrt(apart / moved) <= one.meta["step"].get<double>());
  }
}

TEST_CASE("train: ten steps are Keras's, on the reference backend") {
  for (const char* name : {"optimizer/adam", "embedding/adam", "norm/batch"})
    static_cast<void>(check_steps(read_case(in_repository(std::string("tests/data/training/") + name)),
                                  *backends::make_reference_backend(), 1));
}

}  // namespace attn::test
