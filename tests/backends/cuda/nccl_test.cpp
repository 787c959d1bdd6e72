// Ranks with one GPU each: emulated CUDA, a stand-in for NCCL (tests/fake_nccl), and processes.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../places.h"
#include "attn/backends/backend.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/parallel/cost.h"
#include "attn/parallel/parallelize.h"
#include "attn/plan/passes.h"
#include "attn/plan/plan.h"
#include "forked.h"
#include "models.h"
#include "nccl_ranks.h"
#include "runtime.h"

extern "C" attn::backends::Backend* attn_open_backend(int index);

namespace attn::test {
namespace {

using communicators::Collective;
using communicators::Communicator;
using graph::Graph;
using parallel::Kind;
using Host = std::unique_ptr<Communicator>;

/// The loader reuses an already loaded library of the same name.
void load_stand_in() {
  static void* const kFile = dlopen((fake_nccl() + "/libnccl.so.2").c_str(), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE_MESSAGE(kFile != nullptr, dlerror());
}

std::vector<Tensor> run(const backends::Backend& backend, const Graph& graph, const std::vector<Tensor>& weights,
                        const std::vector<Tensor>& inputs, Communicator* ranks, std::string* kernels = nullptr) {
  backends::CompileOptions options;
  options.ranks = ranks;
  const auto executable = backend.compile(plan::make_plan(backend.optimize(graph)), weights, options);
  if (ranks != nullptr) ranks->reset_counts();
  executable->run(inputs);
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) {
    const Tensor value = executable->value(output.value);
    Tensor copy(value.dtype(), value.shape());
    std::copy_n(value.data(), value.bytes(), copy.data());
    outputs.push_back(copy);
  }
  if (kernels != nullptr)
    for (const backends::KernelChoice& choice : executable->choices()) *kernels += choice.kernel + ";";
  return outputs;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double most = a.shape() == b.shape() ? 0 : 1e9;
  for (std::int64_t i = 0; most < 1e9 && i < a.size(); ++i) most = std::max(most, std::abs(a.at(i) - b.at(i)));
  return most;
}

std::unique_ptr<backends::Backend> cuda() { return std::unique_ptr<backends::Backend>(attn_open_backend(0)); }

/// Returns the problem with a rank's shard of the model, over either communicator.
std::string wrong_with_model(Kind kind, Host host, bool over_host) {
  const int rank = host->rank(), ranks = host->size();
  const auto world = over_host ? std::move(host) : Host(std::make_unique<cuda::Nccl>(std::move(host)));
  const Graph model = plan::simplify_einsum(encoder({.B = 3, .T = 6, .D = 12, .N = 3, .H = 4, .F = 17, .L = 2}));
  const auto weights = draw_weights(model), inputs = draw_inputs(model);
  const auto expected = run(*backends::make_reference_backend(), model, weights, inputs, nullptr);
  const parallel::Parallel local = parallel::parallelize(model, kind, rank, ranks);
  const auto launches = simt::machine().graph_launches;
  std::string kernels;
  const auto got =
      run(*cuda(), local.graph, parallel::local_weights(local, weights, rank), inputs, world.get(), &kernels);
  const bool is_recorded = simt::machine().graph_launches > launches;
  if (is_recorded == over_host) return "recorded: " + std::to_string(is_recorded);
  if (kernels.find(over_host ? "over the host" : "nccl") == std::string::npos) return kernels;
  communicators::Counts counted;
  for (const parallel::CollectiveCall& call : parallel::collective_calls(local.graph)) {
    ++counted[call.collective].calls;
    counted[call.collective].bytes += call.bytes;
  }
  for (const auto& [collective, count] : counted) {
    const communicators::Count seen = world->counts().at(collective);
    if (seen.calls != count.calls || seen.bytes != count.bytes)
      return fmt::format("{} {} of {} bytes", seen.calls, name_of(collective), seen.bytes);
  }
  const double error = largest_difference(expected[0], got[0]);
  return error < 1e-5 ? "" : fmt::format("differs by {}", error);
}

TEST_CASE("nccl: ranks that share a model compute the result of one, in one recorded pass, and count collectives") {
  load_stand_in();
  for (const Kind kind : {Kind::tensor, Kind::data})
    for (const int ranks : {2, 3}) {
      CAPTURE(ranks);
      CHECK(run_forked(ranks, [&](Host host) { return wrong_with_model(kind, std::move(host), false); }) == "");
    }
}

TEST_CASE("nccl: ranks without NCCL share a model through the host, step by step") {
  CHECK(run_forked(2, [&](Host host) { return wrong_with_model(Kind::tensor, std::move(host), true); }) == "");
}

/// A graph of one collective over an array whose `axis` has size `own` on this rank.
Graph one(const graph::Op& op, DType dtype, const Shape& shape) {
  Graph graph;
  graph::Builder builder(graph);
  graph.outputs.push_back({"y", builder.apply(op, {builder.input("x", dtype, shape)})});
  return graph;
}

/// Returns the first problem with collectives over arrays of this dtype, compared with the reference loops over the
/// host. Numbers are small integers, so that sums are exact.
std::string wrong_with_collectives(DType dtype, Host given) {
  const int rank = given->rank(), ranks = given->size();
  auto nccl = std::make_unique<cuda::Nccl>(std::move(given));
  const auto backend = cuda();
  const auto differs = [&](const graph::Op& op, const Shape& shape) {
    const Graph graph = one(op, dtype, shape);
    const Tensor x(dtype, shape);
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.set(i,
            dtype == DType::boolean ? static_cast<double>((i + rank) % 2) : static_cast<double>((7 * i + rank) % 11));
    const auto got = run(*backend, graph, {}, {x}, nccl.get());
    // The wrapped host communicator carries the reference's collectives.
    const auto expected = run(*backends::make_reference_backend(), graph, {}, {x}, nccl.get());
    return largest_difference(expected[0], got[0]) > 0;
  };
  const std::vector<std::vector<Dim>> sizes = ranks == 2 ? std::vector<std::vector<Dim>>{{3, 3}, {4, 1}, {2, 0}}
                                                         : std::vector<std::vector<Dim>>{{2, 2, 2}, {1, 3, 2}};
  if (dtype != DType::boolean && differs(graph::AllReduce{false}, {2, 5})) return "sum";
  if (dtype != DType::boolean && differs(graph::AllReduce{true}, {2, 5})) return "maximum";
  for (const std::vector<Dim>& parts : sizes)
    for (const int axis : {0, 1, 2}) {
      Dim whole = 0;
      for (const Dim part : parts) whole += part;
      const auto with = [&](Dim size) {
        std::vector<Dim> dims{2, 3, 2};
        dims[static_cast<std::size_t>(axis)] = size;
        return Shape(dims);
      };
      const Dim own = parts[static_cast<std::size_t>(rank)];
      const std::string place = fmt::format(" of {} along {}", fmt::join(parts, " "), axis);
      if (differs(graph::AllGather{axis, parts, rank}, with(own))) return "gather" + place;
      if (dtype != DType::boolean && differs(graph::ReduceScatter{axis, parts, rank}, with(whole)))
        return "scatter" + place;
      const bool all_have_some = std::ranges::find(parts, 0) == parts.end();
      if (all_have_some && differs(graph::Shift{axis, parts, rank, 1}, with(own))) return "shift" + place;
    }
  return "";
}

TEST_CASE("nccl: collectives over any dtype, axis and part size equal the reference") {
  load_stand_in();
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8, DType::int16,
                            DType::int32, DType::int64, DType::uint8, DType::uint16, DType::boolean}) {
    CAPTURE(name_of(dtype));
    CHECK(run_forked(2, [&](Host host) { return wrong_with_collectives(dtype, std::move(host)); }) == "");
  }
  CHECK(run_forked(3, [&](Host host) { return wrong_with_collectives(DType::bfloat16, std::move(host)); }) == "");
}

TEST_CASE("nccl: a rank that dies, or misses the deadline, ends the pass of the others with an error") {
  load_stand_in();
  for (const bool dies : {true, false}) {
    const std::string told = run_forked(2, [&](Host host) -> std::string {
      ::setenv("FAKE_NCCL_PATIENCE", dies ? "20000" : "200", 1);
      cuda::Nccl nccl(std::move(host));
      nccl.set_deadline(dies ? 30 : 0.3);
      const Graph graph = one(graph::AllReduce{false}, DType::float32, {4});
      backends::CompileOptions options;
      options.ranks = &nccl;
      const auto executable = cuda()->compile(plan::make_plan(graph), {}, options);
      if (nccl.rank() == 1) {
        if (!dies) ::sleep(2);
        _exit(0);
      }
      try {
        executable->run(std::vector<Tensor>{Tensor(DType::float32, {4})});
      } catch (const Error& error) {
        return fmt::format("{} {} {}", static_cast<int>(error.code()), error.field(), error.what());
      }
      return "nothing";
    });
    CHECK_MESSAGE(told.starts_with(dies ? "rank 0: 5  NCCL: a pass: another rank has exited"
                                        : "rank 0: 5 timeout NCCL: a pass: not all ranks arrived within"),
                  told);
  }
}

TEST_CASE("nccl: a library that is too old is rejected by name") {
  load_stand_in();
  const std::string told = run_forked(1, [](Host) -> std::string {
    ::setenv("FAKE_NCCL_VERSION", "21403", 1);
    cuda::Nccl::expect_library();
    return "taken";
  });
  CHECK(told == "rank 0: NCCL: libnccl.so.2 is 2.14.3, and attn wants 2.18.0 or later");
}

}  // namespace
}  // namespace attn::test
