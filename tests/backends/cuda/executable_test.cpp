// The host code of the CUDA backend, over an emulated CUDA: launches, recordings, caches, memory estimates and reports.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/error.h"
#include "attn/plan/plan.h"
#include "device.h"
#include "kernel.h"
#include "models.h"
#include "product.h"
#include "recording.h"
#include "runtime.h"

extern "C" attn::backends::Backend* attn_open_backend(int index);

namespace attn::test {
namespace {

using backends::Executable;
using graph::ValueId;
using simt::machine;

/// Restores the emulated machine after a test.
class MachineGuard {
 public:
  MachineGuard() : before_(machine()) {}
  ~MachineGuard() {
    const auto used = machine().used_bytes;
    machine() = before_;
    machine().used_bytes = used;
  }
  MachineGuard(const MachineGuard&) = delete;
  MachineGuard& operator=(const MachineGuard&) = delete;

 private:
  simt::Machine before_;
};

std::unique_ptr<backends::Backend> open() { return std::unique_ptr<backends::Backend>(attn_open_backend(0)); }

std::unique_ptr<Executable> compile(const backends::Backend& backend, const graph::Graph& graph,
                                    const std::vector<Tensor>& weights, const backends::CompileOptions& options = {}) {
  return backend.compile(plan::make_plan(backend.optimize(graph)), weights, options);
}

const EncoderSize kSmall{.B = 2, .T = 5, .D = 12, .N = 3, .H = 4, .F = 17, .L = 2};

ExitCode code_of(const std::function<void()>& body, std::string* message = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return ExitCode::done;
}

TEST_CASE("cuda: a pass is one graph launch, and passes after the first allocate nothing") {
  const graph::Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto backend = open();
  const auto executable = compile(*backend, graph, draw_weights(graph));
  executable->run(inputs);
  const auto allocations = machine().allocations;
  const auto launches = machine().graph_launches;
  for (int i = 0; i < 3; ++i) executable->run(inputs);
  CHECK(machine().allocations == allocations);
  CHECK(machine().graph_launches == launches + 3);
}

TEST_CASE("cuda: a post-norm layer needs seven kernels: packed projections, attention, three products, two norms") {
  EncoderSize size = kSmall;
  const auto steps = [&](int layers) {
    size.L = layers;
    const graph::Graph graph = encoder(size);
    const auto backend = open();
    return compile(*backend, graph, draw_weights(graph))->choices().size();
  };
  CHECK(steps(3) - steps(2) == 7);
}

TEST_CASE("cuda: a graph without inputs is compiled and run") {
  graph::Graph graph;
  graph::Builder build(graph);
  const ValueId w = build.weight({"w", "w", {3}, DType::float32, true, {}});
  graph.outputs.push_back({"output_0", build.binary(graph::BinaryFn::add, w, w)});
  Tensor weight(DType::float32, {3});
  for (int i = 0; i < 3; ++i) weight.set(i, i + 1);
  const auto backend = open();
  const auto executable = compile(*backend, graph, {weight});
  executable->run({});
  const Tensor sum = executable->value(graph.outputs[0].value);
  for (int i = 0; i < 3; ++i) CHECK(sum.at(i) == 2 * (i + 1));
}

TEST_CASE("cuda: a reshape into different memory is recorded as a kernel") {
  const cuda::Device device(0);
  const cuda::Stream stream = cuda::make_stream();
  constexpr int kCount = 21;
  std::vector<float> from(kCount), to(kCount, -1.0F);
  for (int i = 0; i < kCount; ++i) from[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const graph::Op op = graph::Reshape{{7, 3}};
  cuda::Scratch scratch;
  const cuda::Operand x{reinterpret_cast<std::byte*>(from.data()), DType::float32, {3, 7}};
  const cuda::Operand y{reinterpret_cast<std::byte*>(to.data()), DType::float32, {7, 3}};
  const cuda::Choice choice = cuda::make_plain(cuda::Step{op, 0, {x}, {y}, device, scratch});
  REQUIRE(choice.made());
  const auto copies = machine().recorded_copies;
  const cuda::GraphExec pass = cuda::record(stream.get(), [&] { choice.launch(stream.get()); });
  CHECK(machine().recorded_copies == copies);
  CHECK(to[0] == -1.0F);
  cuda::check(cudaGraphLaunch(pass.get(), stream.get()), "running the pass");
  CHECK(to == from);
}

TEST_CASE("cuda: an executable runs on its own GPU in every thread, whichever GPU the thread used before") {
  const MachineGuard guard;
  machine().devices = 2;
  const graph::Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const std::unique_ptr<backends::Backend> second(attn_open_backend(1));
  const auto executable = compile(*second, graph, draw_weights(graph));
  const auto first = open();  // this thread's GPU is now the first
  CHECK_NOTHROW(executable->run(inputs));
  const Tensor here = executable->value(graph.outputs[0].value).cast(DType::float64);
  ExitCode code = ExitCode::internal;
  std::thread([&] {
    code = code_of([&] {
      executable->run(inputs);
      executable->run_profiled(inputs, [](graph::NodeId, double) {});
      (void)executable->device_clock()->pass_seconds(true);
    });
  }).join();
  CHECK(code == ExitCode::done);
  const Tensor there = executable->value(graph.outputs[0].value);
  for (std::int64_t i = 0; i < here.size(); ++i) CHECK(here.at(i) == there.at(i));
  CHECK(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("cuda: an executable frees its memory") {
  const auto before = machine().used_bytes;
  {
    const graph::Graph graph = encoder(kSmall);
    const auto backend = open();
    const auto executable = compile(*backend, graph, draw_weights(graph));
    CHECK(machine().used_bytes > before);
    CHECK(executable->memory_bytes() <= machine().used_bytes - before);
  }
  CHECK(machine().used_bytes == before);
}

TEST_CASE("cuda: an executable that does not fit is rejected before allocation, with a size that fits") {
  const MachineGuard guard;
  EncoderSize size = kSmall;
  size.B = 4000;
  const graph::Graph graph = encoder(size);
  const auto weights = draw_weights(graph);
  const auto backend = open();
  machine().total_bytes = machine().used_bytes + (std::int64_t{34} << 20);
  const auto allocations = machine().allocations;
  std::string message;
  CHECK(code_of([&] { (void)compile(*backend, graph, weights); }, &message) == ExitCode::no_memory);
  CHECK(machine().allocations == allocations);
  CHECK_MESSAGE(message.find("of this batch would fit") != std::string::npos, message);
}

TEST_CASE("cuda: a failed allocation after the check is out of memory too, and nothing stays allocated") {
  const MachineGuard guard;
  const graph::Graph graph = encoder(kSmall);
  const auto weights = draw_weights(graph);
  const auto backend = open();
  const auto before = machine().used_bytes;
  for (int n = 1; n < 20; ++n) {
    machine().fail_allocation = machine().allocations + n;
    const ExitCode code = code_of([&] { (void)compile(*backend, graph, weights); });
    CHECK(machine().used_bytes == before);
    if (code == ExitCode::done) break;
    CHECK(code == ExitCode::no_memory);
  }
}

TEST_CASE("cuda: a kernel fault ends the pass with CUDA's description and exit code 5") {
  const MachineGuard guard;
  const graph::Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto backend = open();
  const auto executable = compile(*backend, graph, draw_weights(graph));
  machine().next_error = cudaErrorIllegalAddress;
  std::string message;
  CHECK(code_of([&] { executable->run(inputs); }, &message) == ExitCode::no_device);
  CHECK_MESSAGE(message.find("bug in attn") != std::string::npos, message);
}

TEST_CASE("cuda: an index out of range is reported once, and the next pass is right") {
  graph::Graph graph;
  graph::Builder build(graph);
  const ValueId table = build.input("table", DType::float32, {5, 3});
  const ValueId indices = build.input("indices", DType::int32, {4});
  graph.layers.push_back({"embedding", "Embedding", {}});
  build.set_layer(0);
  graph.outputs.push_back({"output_0", build.apply(graph::Gather{}, {table, indices})});
  const auto backend = open();
  const auto executable = compile(*backend, graph, {});
  std::vector<Tensor> inputs{Tensor(DType::float32, {5, 3}), Tensor(DType::int32, {4})};
  for (int i = 0; i < 15; ++i) inputs[0].set(i, i);
  inputs[1].set(2, 7);
  std::string message;
  CHECK(code_of([&] { executable->run(inputs); }, &message) == ExitCode::bad_input);
  CHECK_MESSAGE(message.find("layer 'embedding': index 7 is out of range for an axis of 5") != std::string::npos,
                message);
  inputs[1].set(2, 4);
  executable->run(inputs);
  CHECK(executable->value(graph.outputs[0].value).at(6) == 12);
}

TEST_CASE("cuda: a profile has a time for every launched step, and the results of a pass") {
  const graph::Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto backend = open();
  const auto executable = compile(*backend, graph, draw_weights(graph));
  executable->run(inputs);
  const Tensor once = executable->value(graph.outputs[0].value).cast(DType::float64);
  std::size_t steps = 0;
  executable->run_profiled(inputs, [&](graph::NodeId, double seconds) {
    ++steps;
    CHECK(seconds >= 0);
  });
  CHECK(steps >= 7);
  CHECK(steps <= executable->choices().size());
  const Tensor again = executable->value(graph.outputs[0].value);
  for (std::int64_t i = 0; i < once.size(); ++i) CHECK(once.at(i) == again.at(i));
}

TEST_CASE("cuda: the device's clock times passes with a warm and a cold cache") {
  const graph::Graph graph = encoder(kSmall);
  const auto backend = open();
  const auto executable = compile(*backend, graph, draw_weights(graph));
  executable->run(draw_inputs(graph));
  REQUIRE(executable->device_clock() != nullptr);
  CHECK(executable->device_clock()->pass_seconds(false) > 0);
  CHECK(executable->device_clock()->pass_seconds(true) > 0);
}

TEST_CASE("cuda: measured algorithms are stored in a file for the GPU and the library, and reused") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("attn-tuning-{}", getpid());
  std::filesystem::create_directories(folder);
  const cuda::Device device(0);
  cublasLtMatmulAlgo_t algorithm{};
  algorithm.data[0] = 2;
  algorithm.data[7] = ~std::uint64_t{0};
  cuda::TuningCache cache(folder.string(), device);
  CHECK_FALSE(cache.find("key"));
  cache.store("key", algorithm);
  cache.save();
  cuda::TuningCache again(folder.string(), device);
  REQUIRE(again.find("key"));
  CHECK(again.find("key")->data[7] == ~std::uint64_t{0});

  // A malformed file is ignored.
  for (const char* text : {"", "[]", "{\"key\": 3}", "{\"key\": [1, 2]}", "{\"key\": [1,2,3,4,5,6,7,\"8\"]}", "{{{{"}) {
    std::ofstream(cache.path()) << text;
    CHECK_FALSE(cuda::TuningCache(folder.string(), device).find("key"));
  }
  std::filesystem::remove_all(folder);
  cache.save();  // a missing folder is created
  CHECK(cuda::TuningCache(folder.string(), device).find("key"));
  std::filesystem::remove_all(folder);
  CHECK_FALSE(cuda::TuningCache("", device).find("key"));  // no place to store it
}

TEST_CASE("cuda: tuning measures each kind of product once, and reuses cached algorithms") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("attn-tuned-{}", getpid());
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const graph::Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto weights = draw_weights(graph);
  const auto backend = open();
  backends::CompileOptions tuned;
  tuned.tune = true;
  const auto first = compile(*backend, graph, weights, tuned);
  const auto products = machine().products;
  const auto second = compile(*backend, graph, weights, tuned);
  const auto spent = machine().products - products;
  CHECK(spent == 2 * 9 + 2);  // each for the warm-up and the recording, and relu's trials: nothing is measured
  first->run(inputs);
  second->run(inputs);
  const Tensor a = first->value(graph.outputs[0].value), b = second->value(graph.outputs[0].value);
  for (std::int64_t i = 0; i < a.size(); ++i) CHECK(a.at(i) == b.at(i));
  unsetenv("XDG_CACHE_HOME");
  std::filesystem::remove_all(folder);
}

TEST_CASE("cuda: the next algorithm is used if one that cuBLASLt proposes cannot be launched") {
  const MachineGuard guard;
  machine().refused_algorithm = 1;
  const graph::Graph graph = encoder(kSmall);
  const auto inputs = draw_inputs(graph);
  const auto weights = draw_weights(graph);
  const auto backend = open();
  const auto executable = compile(*backend, graph, weights);
  executable->run(inputs);
  const Tensor got = executable->value(graph.outputs[0].value).cast(DType::float64);
  machine().refused_algorithm = 0;
  const auto other = compile(*backend, graph, weights);
  other->run(inputs);
  const Tensor expected = other->value(graph.outputs[0].value);
  for (std::int64_t i = 0; i < got.size(); ++i) CHECK(got.at(i) == expected.at(i));
}

TEST_CASE("cuda: more than 65535 products of a batch go to cuBLASLt in parts") {
  const MachineGuard guard;
  machine().largest_batch = 0;
  constexpr std::int64_t kCount = 65535 + 3;
  graph::Graph graph;
  graph::Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {kCount, 1, 2});
  const ValueId y = build.input("y", DType::float32, {kCount, 2, 1});
  graph.outputs.push_back({"output_0", build.apply(graph::MatMul{}, {x, y})});
  const auto backend = open();
  const auto executable = compile(*backend, graph, {});
  const std::vector<Tensor> inputs{Tensor(DType::float32, {kCount, 1, 2}), Tensor(DType::float32, {kCount, 2, 1})};
  for (std::int64_t i = 0; i < 2 * kCount; ++i) inputs[0].set(i, 1), inputs[1].set(i, static_cast<double>(i / 2 % 100));
  executable->run(inputs);
  const Tensor z = executable->value(graph.outputs[0].value);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < kCount; ++i) wrong += z.at(i) != static_cast<double>(2 * (i % 100));
  CHECK(wrong == 0);
  CHECK(machine().largest_batch == 65535);
}

TEST_CASE("cuda: a side too long for cuBLASLt runs on the plain kernel, with the reason") {
  graph::Graph graph;
  graph::Builder build(graph);
  constexpr std::int64_t kRows = 65535 * 32 + 1;
  const ValueId x = build.input("x", DType::float32, {kRows, 1});
  const ValueId y = build.input("y", DType::float32, {1, 1});
  graph.outputs.push_back({"output_0", build.apply(graph::MatMul{}, {x, y})});
  const auto backend = open();
  const auto choice = compile(*backend, graph, {})->choices().at(0);
  CHECK(choice.kernel == "plain");
  CHECK_MESSAGE(choice.why.find("a side is beyond") != std::string::npos, choice.why);
}

TEST_CASE("cuda: strict float32 computes gelu's tanh in attn's own kernel, and half precision fuses it") {
  for (const auto& [dtype, fused] : {std::pair(DType::float32, false), std::pair(DType::bfloat16, true)}) {
    graph::Graph graph;
    graph::Builder build(graph);
    const ValueId x = build.input("x", dtype, {3, 8});
    const ValueId w = build.weight({"w", "w", {8, 8}, dtype, true, {}});
    graph::Unary gelu;
    gelu.fn = graph::UnaryFn::gelu_tanh;
    graph.outputs.push_back({"output_0", build.apply(gelu, {build.apply(graph::Linear{}, {x, w})})});
    const auto backend = open();
    const auto choice = compile(*backend, graph, {Tensor(dtype, {8, 8})})->choices().at(0);
    CHECK_MESSAGE((choice.kernel.find("+gelu_tanh") != std::string::npos) == fused, choice.kernel);
  }
}

TEST_CASE("cuda: relu of NaN is NaN, with attn's own kernel if cuBLASLt's relu drops NaN") {
  for (const bool loses : {false, true}) {
    for (const bool has_bias : {false, true}) {
      for (const bool tune : {false, true}) {
        const MachineGuard guard;
        machine().relu_loses_nan = loses;
        CAPTURE(loses);
        CAPTURE(has_bias);
        CAPTURE(tune);
        graph::Graph graph;
        graph::Builder build(graph);
        const ValueId x = build.input("x", DType::float32, {3, 8});
        std::vector<ValueId> ids{x, build.weight({"w", "w", {8, 8}, DType::float32, true, {}})};
        std::vector<Tensor> weights{Tensor(DType::float32, {8, 8})};
        graph::Linear linear;
        linear.bias = has_bias;
        if (has_bias) {
          ids.push_back(build.weight({"b", "b", {8}, DType::float32, true, {}}));
          weights.emplace_back(DType::float32, Shape{8});
          for (int i = 0; i < 8; ++i) weights[1].set(i, i - 4);
        }
        graph::Unary relu;
        relu.fn = graph::UnaryFn::relu;
        relu.c = std::numeric_limits<double>::infinity();
        graph.outputs.push_back({"output_0", build.apply(relu, {build.apply(linear, ids)})});
        const auto backend = open();
        backends::CompileOptions options;
        options.tune = tune;
        if (tune) setenv("XDG_CACHE_HOME", "/dev/null", 1);
        const auto executable = compile(*backend, graph, weights, options);
        if (tune) unsetenv("XDG_CACHE_HOME");
        const auto choice = executable->choices().at(0);
        CHECK_MESSAGE((choice.kernel.find("+relu") == std::string::npos) == loses, choice.kernel);
        CHECK_MESSAGE((choice.why.find("relu gives a number for NaN") != std::string::npos) == loses, choice.why);
        std::vector<Tensor> inputs{Tensor(DType::float32, {3, 8})};
        inputs[0].set(8, std::nan(""));
        executable->run(inputs);
        const Tensor y = executable->value(graph.outputs[0].value);
        for (int i = 0; i < 8; ++i) {
          CHECK(y.at(i) == (has_bias ? std::max(i - 4, 0) : 0));
          CHECK(std::isnan(y.at(8 + i)));
        }
      }
    }
  }
}

TEST_CASE("cuda: memory for preparation is freed, and packed weights are stored once") {
  const graph::Graph graph = encoder(kSmall);
  const auto backend = open();
  const auto plan = plan::make_plan(backend->optimize(graph));
  REQUIRE(plan.prepared_bytes > 0);
  const auto executable = compile(*backend, graph, draw_weights(graph));
  // The kernels of query, key and value are freed.
  const std::int64_t packed = 3 * kSmall.L * kSmall.D * kSmall.N * kSmall.H * 4;
  CHECK(executable->memory_bytes() + packed <= plan.weight_bytes + plan.prepared_bytes + plan.arena_bytes +
                                                   plan.input_bytes + cuda::kWorkspaceBytes + 256 * 40);
}

TEST_CASE("cuda: memory estimates include the scratch memory of recurrent layers") {
  const MachineGuard guard;
  graph::Graph graph;
  graph::Builder build(graph);
  constexpr std::int64_t kSamples = 64, kSteps = 512, kUnits = 512;
  const ValueId x = build.input("x", DType::float32, {kSamples, kSteps, 4});
  const ValueId kernel = build.weight({"k", "k", {4, kUnits}, DType::float32, true, {}});
  const ValueId recurrent = build.weight({"r", "r", {kUnits, kUnits}, DType::float32, true, {}});
  graph::Rnn rnn;
  rnn.cell = graph::RnnCell::simple;
  rnn.bias = false;
  graph.outputs.push_back({"output_0", build.apply(rnn, {x, kernel, recurrent})});
  const auto backend = open();
  machine().total_bytes = machine().used_bytes + (std::int64_t{48} << 20);  // scratch memory takes 64 MiB
  const auto allocations = machine().allocations;
  const std::vector<Tensor> weights{Tensor(DType::float32, {4, kUnits}), Tensor(DType::float32, {kUnits, kUnits})};
  CHECK(code_of([&] { (void)compile(*backend, graph, weights); }) == ExitCode::no_memory);
  CHECK(machine().allocations == allocations);
}

TEST_CASE("cuda: the GPU determines the attention kernel: Hopper, less shared memory, or older code") {
  struct Row {
    int major, minor;
    std::int64_t shared_kib;  // A100 has 163, sm_86 and sm_89 99, H100 227; the others are edge cases
    std::int64_t head;
    DType dtype;
    std::string_view kernel;
  };
  const Row rows[] = {{9, 0, 227, 64, DType::bfloat16, "flash sm90"}, {9, 0, 227, 256, DType::bfloat16, "flash sm90"},
                      {9, 0, 99, 128, DType::bfloat16, "flash mma"},  {8, 0, 163, 64, DType::bfloat16, "flash mma"},
                      {8, 0, 163, 256, DType::bfloat16, "flash mma"}, {8, 6, 99, 128, DType::bfloat16, "flash mma"},
                      {8, 6, 99, 256, DType::bfloat16, "flash mma"},  {8, 9, 98, 256, DType::float16, "plain"},
                      {8, 6, 99, 64, DType::float32, "flash fma"},    {8, 6, 99, 256, DType::float32, "flash fma"},
                      {12, 0, 99, 128, DType::bfloat16, "flash mma"}};
  for (const Row& row : rows) {
    const MachineGuard guard;
    machine().major = row.major;
    machine().minor = row.minor;
    machine().shared_bytes = row.shared_kib * 1024;
    CAPTURE(row.head);
    CAPTURE(row.major);
    CAPTURE(row.minor);
    graph::Graph graph;
    graph::Builder build(graph);
    std::vector<ValueId> ids;
    for (const char* name : {"q", "k", "v"}) ids.push_back(build.input(name, row.dtype, {1, 140, 1, row.head}));
    graph.outputs.push_back({"output_0", build.apply(graph::Attention{}, ids)});
    const auto backend = open();
    CHECK(compile(*backend, graph, {})->choices().at(0).kernel == row.kernel);
  }
}

TEST_CASE("cuda: a GPU that is too old or missing is rejected") {
  const MachineGuard guard;
  machine().major = 7;
  machine().minor = 5;
  std::string message;
  CHECK(code_of([] { (void)open(); }, &message) == ExitCode::no_device);
  CHECK_MESSAGE(message.find("sm_75") != std::string::npos, message);
  machine().devices = 0;
  CHECK(code_of([] { (void)open(); }) == ExitCode::no_device);
}

}  // namespace
}  // namespace attn::test
